"""Each operation of the Integration API is called once through the SDK, by both clients, at the real service."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cast import Actor, application, sign_up
from tests.running import Service
from tests.sdk.driven import Driven, driven
from tests.sdk.test_generated import operations
from tollhouse_sdk import AsyncTollhouse, Grant, MemoryTokens, OAuth, Tollhouse, models

EURO = {"currency": "EUR", "amount": "50.00"}
HOOK = "http://127.0.0.1:9999/hook"
TO_DOLLARS = {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"}
PAYOUT = {"method_id": "sandbox:EUR", "amount": "1.00", "receiver": "Nina Nowak"}
COFFEE = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}


@pytest.mark.parametrize("kind", [Tollhouse, AsyncTollhouse])
async def test_every_operation_works(kind: Any, make_service: Callable[..., Service]) -> None:
    service = make_service(NOTIFY_DEPRECATED_WH="true")
    async with sign_up(service, "alice", "Alice's Coffee") as alice, sign_up(service, "bob", "Bob's Books") as bob:
        await everything_works(kind, alice, bob)


async def everything_works(kind: Any, alice: Actor, bob: Actor) -> None:
    """What Alice sells and pays, and what Bob's application is paid."""
    shop = driven(kind, alice.service.url, await alice.key())
    for part in (offers, payments, disputes, withdrawals, schedules, conversions, fulfillments, proposals, webhooks):
        await part(shop)
    till = await application(bob)
    tokens = await till.connect(alice, "balance-payments:write balance-payments:read")
    grant = Grant(tokens["access_token"], time.time() + tokens["expires_in"])
    auth = OAuth(till.client_id, till.client_secret, tokens=MemoryTokens(grant))
    app = driven(kind, alice.service.url, auth)
    await balance_payments(app)
    assert set(operations()) - shop.called - app.called == set()


async def offers(shop: Driven) -> None:
    """What the service offers, and settings."""
    assert (await shop.call("account"))["mode"] == "test"
    assert {one["code"] for one in (await shop.call("list_currencies", limit=100))["currencies"]} >= {"EUR", "BTC"}
    assert (await shop.call("list_methods", currency="EUR"))["payment_methods"]
    [project] = (await shop.call("list_projects"))["projects"]
    assert (await shop.call("read_project", project["id"])) == project
    settings = await shop.call("read_settings")
    changed = await shop.call("save_settings", **{**_writable(settings), "link_expiry_minutes": 60})
    assert changed["link_expiry_minutes"] == 60
    assert (await shop.call("advance_clock", seconds=1))["ahead_seconds"] == 1
    assert (await shop.call("fund", **EURO))["available"] == "50.00"
    assert (await shop.call("list_balances"))["balances"]
    assert (await shop.call("read_balance", "EUR"))["available_minor"] == 5_000
    [entry] = [one for one in await shop.iterate("iterate_entries", limit=1) if one["account"] == "available"]
    assert (await shop.call("list_entries", currency="EUR"))["ledger"]
    assert (await shop.call("read_entry", entry["id"]))["id"] == entry["id"]


def _writable(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in models.NewSettings.__annotations__}


async def payments(shop: Driven) -> None:
    """Links, payments and refunds."""
    link = await shop.call("open_link", idempotency_key="order-1001", **COFFEE)
    again = await shop.call("open_link", idempotency_key="order-1001", **COFFEE)
    assert again == link
    assert (await shop.call("list_links", status=["active"]))["payment_links"] == [link]
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert (await shop.call("change_expiry", link["id"], expires_at=later))["id"] == link["id"]
    paid = await shop.call("simulate_link", link["id"], outcome="succeed")
    assert paid["status"] == "succeeded"
    assert (await shop.call("read_link", link["id"]))["status"] == "completed"
    assert (await shop.call("read_transaction", paid["id"]))["net"] == "4.20"
    assert (await shop.call("list_transactions", payment_link_id=link["id"]))["transactions"][0]["id"] == paid["id"]
    refund = await shop.call("request_refund", paid["id"], amount="1.00")
    assert (await shop.call("simulate_refund", refund["id"], outcome="succeed"))["status"] == "succeeded"
    assert (await shop.call("read_refund", refund["id"]))["amount_minor"] == 100
    assert len((await shop.call("list_refunds"))["refunds"]) == 1
    assert len((await shop.call("list_refunds_of", paid["id"]))["refunds"]) == 1
    canceled = await shop.call("open_link", **COFFEE)
    assert (await shop.call("cancel_link", canceled["id"]))["status"] == "canceled"
    missed = await shop.call("open_link", **COFFEE)
    late = await shop.call("simulate_link", missed["id"], outcome="late")
    assert (await shop.call("accept", late["id"]))["status"] == "succeeded"
    pending = await shop.call("open_link", **COFFEE)
    begun = await shop.call("simulate_link", pending["id"], outcome="processing")
    assert (await shop.call("simulate_transaction", begun["id"], outcome="succeed"))["status"] == "succeeded"
    report = await shop.call("financial_summary", currency="EUR")
    assert report["financial_summaries"]


async def disputes(shop: Driven) -> None:
    """Two payments that were charged back: one is contested, the other accepted."""
    first, second = [await _disputed(shop), await _disputed(shop)]
    assert len((await shop.call("list_disputes"))["disputes"]) == 2
    await shop.call("save_evidence", first, product_description="A cup of coffee.")
    assert (await shop.call("submit_dispute", first))["id"] == first
    assert (await shop.call("accept_dispute", second))["id"] == second
    assert (await shop.call("read_dispute", first))["id"] == first


async def _disputed(shop: Driven) -> str:
    link = await shop.call("open_link", **COFFEE)
    return (await shop.call("simulate_link", link["id"], outcome="chargeback"))["chargeback"]["id"]


async def withdrawals(shop: Driven) -> None:
    """Quotes, recipients, one payout and a batch of them."""
    assert (await shop.call("list_withdrawal_methods"))["withdrawal_methods"]
    quote = await shop.call("quote_withdrawal", method_id="sandbox:EUR", amount="1.00")
    assert quote["amount"] == "1.00"
    made = await shop.call("request_withdrawal", **PAYOUT)
    assert (await shop.call("read_withdrawal", made["id"]))["id"] == made["id"]
    canceled = await shop.call("request_withdrawal", **PAYOUT)
    assert (await shop.call("cancel_withdrawal", canceled["id"]))["status"] == "canceled"
    other = await shop.call("request_withdrawal", **PAYOUT)
    assert (await shop.call("simulate_withdrawal", other["id"], outcome="complete"))["status"] == "completed"
    assert len((await shop.call("list_withdrawals"))["withdrawals"]) == 3
    batch = await shop.call("create_batch", items=[PAYOUT, PAYOUT])
    assert (await shop.call("read_batch", batch["id"]))["id"] == batch["id"]
    assert len((await shop.call("list_batches"))["withdrawal_batches"]) == 1
    settings = await shop.call("read_withdrawal_settings")
    saved = await shop.call("save_withdrawal_settings", saved_recipients_only=False)
    assert saved["saved_recipients_only"] == settings["saved_recipients_only"]


async def schedules(shop: Driven) -> None:
    """Withdrawals to a saved recipient at times that were chosen."""
    nina = await shop.call("add_recipient", name="Nina", method_id="sandbox:EUR", receiver="Nina Nowak")
    assert (await shop.call("read_recipient", nina["id"]))["name"] == "Nina"
    made = await shop.call("create_schedule", recipient_id=nina["id"], frequency="daily", amount="1.00")
    assert (await shop.call("pause_schedule", made["id"]))["status"] == "paused"
    assert (await shop.call("resume_schedule", made["id"]))["status"] == "active"
    assert (await shop.call("read_schedule", made["id"]))["id"] == made["id"]
    assert len((await shop.call("list_schedules"))["withdrawal_schedules"]) == 1
    assert (await shop.call("end_schedule", made["id"]))["id"] == made["id"]
    assert len((await shop.call("list_recipients"))["withdrawal_recipients"]) == 1
    assert (await shop.call("delete_recipient", nina["id"]))["id"] == nina["id"]


async def conversions(shop: Driven) -> None:
    """A quote, a conversion, and a rule."""
    assert (await shop.call("list_pairs"))["conversion_pairs"]
    quote = await shop.call("quote_conversion", **TO_DOLLARS)
    assert quote["from_amount"] == "1.00"
    made = await shop.call("convert", **TO_DOLLARS)
    assert (await shop.call("read_conversion", made["id"]))["id"] == made["id"]
    assert len((await shop.call("list_conversions"))["conversions"]) == 1
    rule = await shop.call("make_rule", from_currency="EUR", to_currency="USD", trigger="on_payment", percent=50)
    rule = await shop.call(
        "change_rule", rule["id"], from_currency="EUR", to_currency="USD", trigger="on_payment", percent=10, version=1
    )
    assert (await shop.call("read_rule", rule["id"]))["percent"] == 10
    assert len((await shop.call("list_rules"))["conversion_rules"]) == 1
    assert (await shop.call("end_rule", rule["id"]))["id"] == rule["id"]


async def fulfillments(shop: Driven) -> None:
    """Deliveries in a game."""
    assert (await shop.call("list_fulfillment_products"))["fulfillment_products"]
    gems = {"product_id": "sandbox:gems", "quantity": 1, "recipient": {"player_id": "nina-7"}}
    first, second = [await shop.call("order_fulfillment", **gems) for _ in range(2)]
    assert (await shop.call("simulate_fulfillment", first["id"], outcome="complete"))["status"] == "completed"
    assert (await shop.call("cancel_fulfillment", second["id"]))["status"] == "canceled"
    assert (await shop.call("read_fulfillment", first["id"]))["quantity"] == 1
    assert len((await shop.call("list_fulfillments"))["fulfillments"]) == 2
    assert await shop.call("read_fulfillment_statistics", group_by="product")


async def proposals(shop: Driven) -> None:
    """One that the merchant does not decide about."""
    made = await shop.call("propose", operation="conversions", body=TO_DOLLARS)
    assert (await shop.call("read_proposal", made["id"]))["status"] == "waiting"
    assert (await shop.call("cancel_proposal", made["id"]))["status"] == "canceled"
    assert len((await shop.call("list_proposals"))["proposals"]) == 1


async def balance_payments(app: Driven) -> None:
    """Payments to the owner of an application, which makes them."""
    penny = {"amount": "0.02", "currency": "EUR", "capture": False}
    first, second = [await app.call("make_balance_payment", **penny) for _ in range(2)]
    assert (await app.call("capture_balance_payment", first["id"], amount="0.01"))["status"] == "captured"
    assert (await app.call("refund_balance_payment", first["id"]))["id"] == first["id"]
    assert (await app.call("release_balance_payment", second["id"]))["status"] == "released"
    assert (await app.call("read_balance_payment", first["id"]))["id"] == first["id"]
    assert len((await app.call("list_balance_payments"))["balance_payments"]) == 2


async def webhooks(shop: Driven) -> None:
    """The configuration, and events."""
    assert await shop.call("read_configuration") is None
    saved = await shop.call("save_configuration", url=HOOK, event_types=["payment.succeeded"])
    assert saved["secret"].startswith("whsec_")
    assert (await shop.call("rotate_secret"))["secret"] != saved["secret"]
    event = await shop.call("send_test_event", url=HOOK)
    assert (await shop.call("read_event", event["id"]))["delivery_history"] is not None
    assert (await shop.call("redeliver_event", event["id"]))["id"] == event["id"]
    listed = await shop.call("list_events", limit=1)
    assert listed["has_more"]
    every = await shop.iterate("iterate_events")
    assert len(every) == len({one["id"] for one in every}) > 1
    assert (await shop.call("read_request_log", limit=1))["has_more"] in {True, False}
    if "read_feed" in operations():
        assert (await shop.call("read_feed"))["feed_id"]
    assert (await shop.call("switch_delivery_off"))["enabled"] is False
