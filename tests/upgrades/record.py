"""Record the database of this version and what the API says of it: `just release-data VERSION`.

A plugin of pytest. All tests of the run share one database; when they are over, its rows are dumped. It uses only what the
trees of all releases have.
"""

import asyncio
import gzip
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from tests import running
from tests.upgrades.api_lists import read_lists

HERE = Path(__file__).parent
TESTS = (
    "tests/transfers/conversions/test_price_feed.py::test_prices_are_read_compared_and_posted",
    "tests/accounts/mail/test_links.py::test_a_new_device_is_reported_once",
    "tests/rails/bank/test_payouts.py::test_a_withdrawal_leaves_and_comes_back",
    "tests/rails/bank/test_payouts.py::test_a_refund_leaves_to_whoever_paid_and_comes_back",
    "tests/rails/bank/test_payouts.py::test_a_batch_that_the_bank_books_as_one_line",
    "tests/rails/bank/test_payouts.py::test_what_the_bank_does_and_nobody_asked_for_waits",
    "tests/rails/bank/test_payouts.py::test_an_operator_keeps_a_payout_here",
    "tests/rails/bank/test_payouts.py::test_what_came_back_may_be_seen_before_it_left",
    "tests/rails/bank/test_imports.py",
    "tests/payments/transactions/test_unfitting.py::test_late_money_waits_for_a_decision",
    "tests/payments/transactions/test_unfitting.py::test_too_much_is_kept_apart_where_the_merchant_says_so",
    "tests/payments/transactions/test_unfitting.py::test_a_second_customer_pays_what_is_paid",
    "tests/payments/refunds/test_refunds.py::test_in_two_parts",
    "tests/payments/refunds/test_refunds.py::test_a_refund_that_the_bank_returns",
    "tests/payments/refunds/test_refunds.py::test_a_dispute_that_is_won",
    "tests/payments/refunds/test_refunds.py::test_a_debt_is_repaid_first",
    "tests/transfers/conversions/test_conversions.py::test_a_quote_and_its_conversion",
    "tests/transfers/conversions/test_rules.py::test_each_payment_is_converted_once",
    "tests/transfers/conversions/test_rules.py::test_changing_and_ending",
    "tests/transfers/fulfillments/test_fulfillments.py::test_delivered",
    "tests/transfers/fulfillments/test_fulfillments.py::test_delivered_in_part",
    "tests/transfers/fulfillments/test_fulfillments.py::test_canceled",
    "tests/transfers/balance_payments/test_payments.py::test_captured_in_part",
    "tests/transfers/balance_payments/test_payments.py::test_refunded_in_parts",
    "tests/transfers/balance_payments/test_payments.py::test_reserved",
    "tests/transfers/withdrawals/test_withdrawals.py::test_left_to_itself_it_arrives",
    "tests/transfers/withdrawals/test_withdrawals.py::test_canceled_in_time_everything_is_as_before",
    "tests/webhooks/endpoints/test_runs.py::test_all_that_failed_are_sent_again_once",
    "tests/webhooks/endpoints/test_configuration.py::test_the_first_put_shows_the_secret_and_nothing_else_ever_does",
    "tests/accounts/merchants/test_second_factor.py::test_from_setting_it_up_to_signing_in",
    "tests/oauth/test_refresh.py::test_refresh_returns_new_tokens_and_keeps_old_access_tokens",
    "tests/oauth/test_connections.py::test_owner_disconnects_all_merchants",
    "tests/pages/console/test_pages.py::test_a_merchant_is_suspended_with_a_reason_and_goes_on",
    "tests/pages/console/test_pages.py::test_a_project_is_approved_and_sells",
    "tests/rails/bank/test_reports.py::test_a_rejected_transfer_fails_and_the_others_go_on",
    "tests/rails/bank/test_reports.py::test_what_is_accepted_is_only_shown",
    "tests/rails/bank/test_reports.py::test_an_announced_transfer_is_credited_once_by_its_statement",
    "tests/rails/bank/test_channel.py::test_an_exported_batch_is_sent_until_the_bank_has_it",
    "tests/rails/bank/test_restored.py::test_an_operator_pauses_and_resumes_payouts",
    "tests/rails/bank/test_provider_payouts.py",
    "tests/ledger/accounting/test_trial_balance.py::test_totals_are_the_same_before_and_after_they_are_added",
    "tests/payments/receipts/test_receipts.py::test_numbers_follow_each_other",
    "tests/accounts/mail/test_receipt_mails.py::test_the_customer_of_a_link_gets_the_receipt_once",
    "tests/accounts/settings/test_logo_pages.py::test_the_settings_show_it_on_both_grounds_and_remove_it",
    "tests/accounts/settings/test_logo_pages.py::test_a_logo_is_served_for_images_only",
    "tests/pages/dashboard/test_saved_filters.py::test_they_are_of_one_user_and_one_mode",
    "tests/payments/refunds/test_reversals.py::test_credited_money_that_is_gone_is_charged_back_and_comes_back_once",
    "tests/payments/refunds/test_reversals.py::test_what_was_spent_or_refunded_becomes_debt",
    "tests/payments/refunds/test_reversals.py::test_a_dispute_after_a_refund_is_recorded_charged_and_has_the_refund_as_evidence",
    "tests/payments/transactions/test_first_seen.py::test_a_transfer_keeps_its_moment_and_a_replacement_has_its_own",
    "tests/payments/refunds/test_chargeback_notes.py",
    "tests/payments/disputes/test_disputes.py::test_evidence_is_a_draft_until_it_is_submitted",
    "tests/transfers/conversions/test_positions.py::test_a_position_follows_live_conversions",
    "tests/instance/personal_data/test_export.py::test_evidence_is_exported_when_it_is_submitted",
    "tests/transfers/withdrawals/test_batches.py::test_all_are_created_once",
    "tests/transfers/withdrawals/test_schedules.py::test_everything_above_is_withdrawn_once_a_day",
    "tests/transfers/withdrawals/test_saved_recipients.py::test_a_recipient_is_paid_after_a_day",
    "tests/transfers/withdrawals/test_saved_recipients.py::test_only_saved_recipients",
    "tests/transfers/withdrawals/test_saved_recipients.py::test_in_live_mode_every_user_gets_an_email",
    "tests/rails/cards/test_card_payments.py::test_a_customer_pays_on_the_page_of_the_provider",
    "tests/rails/cards/balance/test_balance_transactions.py::test_fees_and_payouts_are_posted_once",
    "tests/pages/console/test_state.py::test_the_database_keeps_one_last_look",
    "tests/rails/evm/test_payouts_of_withdrawals.py::test_a_withdrawal_is_paid_from_request_to_block",
    "tests/rails/evm/test_reversed_deposits.py::test_the_same_block_can_be_dropped_twice",
    "tests/rails/evm/test_sweeps.py::test_ether_of_closed_payments_is_collected",
    "tests/rails/evm/test_rail_balances.py::test_what_nobody_explains_is_a_difference",
    "tests/rails/bitcoin/test_receiving.py::test_a_payment_is_seen_confirmed_and_credited_once",
    "tests/rails/bitcoin/test_payouts.py::test_a_batch_is_paid_from_withdrawal_to_final_block",
    "tests/rails/bitcoin/test_balances.py::test_what_somebody_moved_by_hand_is_a_difference_until_it_is_booked",
)
"""They leave a row in every table."""
SCOPES = "account:read balances:read payments:read payments:write offline_access"
PEOPLE = """
    SELECT u.email FROM users u JOIN merchants m ON m.id = u.merchant_id
    WHERE m.suspended_at IS NULL AND EXISTS (SELECT FROM ledger_entries e WHERE e.merchant_id = m.id)
    ORDER BY u.email
"""
TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace ORDER BY relname
"""


async def _same(dsn: str) -> str:
    return dsn


def pytest_configure(config: pytest.Config) -> None:
    """Give the one database to tests that want one of their own."""
    config.addinivalue_line("markers", "xdist_group(name): of pytest-xdist, which does not run here")
    for name in ("new_database", "migrated_database", "copied_database"):
        setattr(running, name, _same)


@pytest.fixture(scope="session", autouse=True)
def recorded(server: Any) -> Iterator[None]:
    """Record when all tests are over."""
    begun = datetime.now(UTC)
    yield
    asyncio.run(_record(server.cluster, begun))


async def _record(cluster: Any, begun: datetime) -> None:
    from tests.cast import PASSWORD, application, sign_up  # noqa: PLC0415 - pytest rewrites it
    from tests.invariants import broken_invariants  # noqa: PLC0415 - it imports the same

    with running.Service(running.settings_for(cluster.dsn), worker=False) as service:
        async with (
            sign_up(service, "vera", "Vera's Vinyl") as vera,
            sign_up(service, "walter", "Walter's Watches") as walter,
        ):
            app = await application(walter)
            token = await app.connect(vera, SCOPES)
        emails = [row["email"] for row in await service.sql(PEOPLE)]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            merchants = [
                recorded_merchant
                for email in emails
                async for recorded_merchant in _recorded_merchants(http, service.url, email, PASSWORD)
            ]
        known = {
            "recorded_at": begun.isoformat(),
            "password": PASSWORD,
            "application": {"client_id": app.client_id, "client_secret": app.client_secret, **token},
            "merchants": merchants,
        }
        tables = [row["relname"] for row in await service.sql(TABLES)]
        empty = [name for name in tables if not await service.sql(f"SELECT FROM {name} LIMIT 1")]
        sys.stderr.write(f"\nbroken: {await broken_invariants(service.dsn)}\nempty: {empty}\n")
    version = os.environ["RECORDED_VERSION"]
    (HERE / f"{version}.json.gz").write_bytes(gzip.compress(msgspec.json.encode(known), mtime=0))
    (HERE / f"{version}.sql.gz").write_bytes(gzip.compress(_dumped(cluster).encode(), mtime=0))


async def _recorded_merchants(
    http: aiohttp.ClientSession, url: str, email: str, password: str
) -> AsyncIterator[dict[str, Any]]:
    """The keys of a merchant and what they are members; nothing if the person has another password by now."""
    async with http.post(f"{url}/api/v2/merchant/login", json={"email": email, "password": password}) as response:
        if response.status != 200:
            return
        cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in response.cookies.items())
    said: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for mode in ("test", "live"):
        body = {"name": "Recorder", "mode": mode}
        async with http.post(f"{url}/api/v2/merchant/api-keys", json=body, headers={"Cookie": cookie}) as response:
            assert response.status == 201, await response.text()
            keys[mode] = (await response.json())["api_key"]
        said[mode] = await read_lists(http, url, keys[mode])
    yield {"email": email, "keys": keys, "said": said}


def _dumped(cluster: Any) -> str:
    """The rows of all tables as SQL, without commands of psql."""
    options = ["--data-only", "--column-inserts", "--rows-per-insert=1000", "--load-via-partition-root", "--no-owner"]
    done = subprocess.run(
        [cluster.binaries / "bin" / "pg_dump", *options, cluster.dsn], capture_output=True, text=True, check=True
    )
    return re.sub(r"(?m)^\\(un)?restrict .*\n", "", done.stdout)


if __name__ == "__main__":
    os.environ["RECORDED_VERSION"] = sys.argv[1]
    options = ["-p", "tests.upgrades.record", "-p", "no:xdist", "-s", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    sys.exit(pytest.main([*options, *(sys.argv[2:] or TESTS)]))
