"""Daily totals and trial balances: the same figures before and after they are added up, however late something is posted."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.ledger.accounting.conftest import DATEV
from tests.rails.bank.steps import Bank
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.ledger.accounting import store
from tollhouse.ledger.accounting.journal import add_daily_totals, trial_balances
from tollhouse.pages.console import actions
from tollhouse.platform.settings.config import InvalidSettingsError, load

HOURS_AGO = timedelta(hours=2)
ADDED = "SELECT sum(amount_minor)::int AS amount FROM ledger_daily_totals WHERE mode = 'live' AND currency = $1"


async def adjust(work: Work, actor: Actor, currency: str, amount_minor: int) -> OperatorAction:
    """An operator credits a merchant, at the time of this work."""
    env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "live")
    known = work.services.catalogue.currencies[currency]
    return await actions.adjust(work, env, known, amount_minor, OperatorContext("olga", work.now, "A gift"))


async def balances(services: Services, currency: str, days_ago: int | None = None) -> dict[str, int]:
    """The balances of the accounts of a currency, now or at the end of a day. Together they are zero."""
    day = None if days_ago is None else (clock.now() - timedelta(days=days_ago)).date()
    found = [trial_balance for trial_balance in await trial_balances(services.db, day) if trial_balance.currency == currency]
    assert all((balance.balance_minor, balance.debit_minor) == (0, balance.credit_minor) for balance in found)
    return {account.code: account.balance_minor for balance in found for account in balance.accounts}


async def test_totals_are_the_same_before_and_after_they_are_added(alice: Actor, bank: Bank) -> None:
    services = bank.services
    at = clock.now() - HOURS_AGO
    await services.transact(lambda work: adjust(work, alice, "JPY", 500), at)
    await services.transact(lambda work: adjust(work, alice, "JPY", 70), clock.now())
    expected = {"available": -570, "equity:adjustment": 570}
    assert await balances(services, "JPY") == expected
    await add_daily_totals(services)
    assert [row["amount"] for row in await alice.sql(ADDED, "JPY")] == [500]
    assert await balances(services, "JPY") == expected
    await services.transact(lambda work: adjust(work, alice, "JPY", 8), at)
    assert [row["amount"] for row in await alice.sql(ADDED, "JPY")] == [508]
    assert await balances(services, "JPY") == {"available": -578, "equity:adjustment": 578}
    assert await balances(services, "JPY", days_ago=2) == {}
    async with services.db.connection() as tx, tx.snapshot():
        days = await store.list_days(tx, "JPY", at.date(), clock.now().date())
    assert sum(day.amount_minor for day in days) == 578
    assert {(day.type, day.debit_code, day.credit_code) for day in days} == {
        ("adjustment", "equity:adjustment", "available")
    }


async def test_a_transaction_that_commits_after_its_hour_was_added_is_counted(alice: Actor, bank: Bank) -> None:
    services = bank.services

    async def slow(work: Work) -> None:
        await adjust(work, alice, "GBP", 30)
        await add_daily_totals(services)
        assert await alice.sql(ADDED, "GBP") == [(None,)]

    await services.transact(slow, clock.now() - HOURS_AGO)
    assert [row["amount"] for row in await alice.sql(ADDED, "GBP")] == [30]
    assert await balances(services, "GBP") == {"available": -30, "equity:adjustment": 30}


async def test_the_page_and_its_file(alice: Actor, bank: Bank, olga: Actor) -> None:
    await bank.services.transact(lambda work: adjust(work, alice, "USD", 1_234), clock.now())
    shown = (await olga.send("GET", "/operator/books")).ok().text
    for words in ("Available balances of merchants", "equity:adjustment", "$12.34", "\N{MINUS SIGN}$12.34", "Total"):
        assert words in shown, words
    file = (await olga.send("GET", "/operator/books.csv")).ok()
    assert file.headers["Content-Disposition"].startswith('attachment; filename="trial-balance-')
    today = clock.now().date()
    assert f"{today},USD,available,Available balances of merchants,0.00,12.34,-12.34\r\n" in file.text
    earlier = (today - timedelta(days=1)).isoformat()
    assert "USD,available" not in (await olga.send("GET", f"/operator/books.csv?on={earlier}")).ok().text
    for wrong in ("gone", (today + timedelta(days=2)).isoformat()):
        assert "The filters are invalid." in (await olga.send("GET", f"/operator/books?on={wrong}")).ok(422).text
        (await olga.send("GET", f"/operator/books.csv?on={wrong}")).refused("validation_failed", 422)
    (await alice.send("GET", "/operator/books")).ok(303)


@pytest.mark.parametrize(
    "accounts", ["bank=18", "bank=1800,bank=1801", "Bank=1800", "bank:DE 1=1800", "bank", "bank=1800000000"]
)
def test_wrong_numbers_of_accounts_are_refused(accounts: str) -> None:
    with pytest.raises(InvalidSettingsError, match="TOLLHOUSE_DATEV_ACCOUNTS must"):
        load(DATEV | {"TOLLHOUSE_DATEV_ACCOUNTS": accounts})
