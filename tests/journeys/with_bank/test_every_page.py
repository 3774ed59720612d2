"""Every page of the service, by following all links of a merchant, an application owner, an operator and a visitor."""

from uuid import uuid4

import pytest
from playwright.async_api import Browser

from tests.browser import EVERY_LOOK, IN_A_BROWSER, WIDE, visitor
from tests.cast import Actor, sign_up
from tests.journeys.with_bank.every_page import Crawl, carry_session
from tests.pages.console.operator_pages import invite, signed_in_operator
from tests.payments.bank import attempt, refund, sell
from tests.payments.shop import choose, open_link
from tests.rails.bank.camt import Line
from tests.rails.bank.steps import Bank, earned, offer, refunded, withdrawn
from tests.receiver import Receiver
from tests.running import Service
from tests.transfers.balance_payments.till import open_till
from tests.transfers.conversions.steps import convert, fund
from tests.transfers.withdrawals.steps import BY_SEPA, TO_NINA, asked
from tollhouse.kernel import clock
from tollhouse.rails.balances import store as rail_store
from tollhouse.rails.balances.model import RailBalance

NOT_LINKED = {
    "/unsubscribe/{token}": "mailed",
    "/address/confirm/{secret}": "mailed",
    "/address/undo/{secret}": "mailed",
    "/api/v2/oauth/authorize": "leads to the consent page",
    "/logos/{name}": "an image",
    "/application-logos/{client_id}": "an image",
    "/device": "a program on another device shows it",
    "/operator/applications/{client_id}/allow-device-writes": "on applications that connect devices",
    "/operator/applications/{client_id}/withdraw-device-writes": "after allowing",
    "/operator/applications/{client_id}/withdraw-approval": "after approving",
    "/operator/applications/{client_id}/withdraw-verification": "after verifying",
    "/operator/applications/{client_id}/reactivate": "after suspending",
    "/operator/bitcoin-payouts": "with a rail of Bitcoin",
    "/operator/bitcoin-payouts/{batch_id}": "with a rail of Bitcoin",
    "/operator/bitcoin-payouts/{batch_id}/file": "with a rail of Bitcoin",
    "/operator/deliveries/{merchant_id}/{mode}": "where deliveries fail",
    "/operator/mail/{mail_id}/html": "only where operators can read mail: without a relay, outside live use",
    "/operator/imports/{import_id}": "after a form",
    "/operator/merchants/{merchant_id}/reactivate": "after suspending",
    "/operator/security/off": "with a second factor",
    "/operator/security/setup": "after a form",
    "/operator/signin/2fa": "after a password",
    "/operator/stepup": "after a time",
    "/pay/brand/{name}": "a stylesheet",
    "/pay/{token}/status": "of scripts",
    "/invitation/{secret}": "mailed",
    "/reset/{secret}": "mailed",
    "/settings/merchants": "with several merchants",
    "/settings/security/off": "with a second factor",
    "/settings/security/setup": "after a form",
    "/signin/2fa": "after a password",
    "/stepup": "after a time",
    "/{mode}/developers/events/redeliveries/{run_id}": "after a form",
    "/verify/{secret}": "mailed",
    "/{mode}/disputes/{dispute_id}/submit": "after a form",
}
"""Pages that no link leads to; journeys see them."""

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


async def fill(alice: Actor, bob: Actor, bank: Bank, receiver: Receiver) -> tuple[list[str], str]:
    """Give every list something to show; the addresses of checkout pages in each state, and of a consent page."""
    till = await open_till(alice, bob)
    await till.reserve(description="Stall 7")
    await sell(alice, "succeed", webhook_url=receiver.url, customer_email="nina@example.com")
    (await refund(alice, await sell(alice), "4.00")).ok(201)
    await sell(alice, "chargeback")
    await fund(alice, "50.00")
    (await convert(alice)).ok(201)
    await asked(alice)
    (await alice.post("/withdrawal-batches", {"items": [TO_NINA]}, key=str(uuid4()))).ok(201)
    order = {"product_id": "sandbox:gems", "quantity": 20, "recipient": {"player_id": "anna", "server": "eu"}}
    (await alice.post("/fulfillments", order, key=str(uuid4()))).ok(201)
    (await alice.post("/proposals", {"operation": "fulfillments", "body": order}, key=str(uuid4()))).ok(201)
    payment_id = await earned(alice, bank)
    payout = await withdrawn(alice, bank)
    await bank.export(payout)
    await refunded(alice, bank, payment_id)
    await bank.shows(Line(90, words="Interest", name=None))
    await asked(alice, BY_SEPA | {"amount": "1.00"}, mode="live")
    await measure_network(bank)
    opened, pending, failed, paid = [await open_link(alice) for _ in range(4)]
    await attempt(alice, failed, "fail")
    await attempt(alice, paid)
    waiting = (await choose(pending)).ok(303).location
    transfer, transfer_payment, _ = await offer(alice)
    pages = [
        opened["url"],
        alice.service.url + waiting,
        failed["url"],
        paid["url"],
        f"{transfer['url']}?payment={transfer_payment}",
    ]
    return pages, till.app.authorize_path("account:read payments:write offline_access")


async def measure_network(bank: Bank) -> None:
    """As if the worker had compared a network with the ledger."""
    places, db, now = {"wallet": 10**18}, bank.services.db, clock.now()
    measured = RailBalance(
        rail="ethereum",
        mode="live",
        currency="ETH",
        measured_at=now,
        as_of="block 1",
        decimals=18,
        places=places,
        ledger_units=0,
        in_flight={"deposits_not_credited": 10**18},
    )
    await db.transact(lambda tx: rail_store.insert(tx, [measured]))
    await rail_store.measure_next(db, "ethereum", "live", now, None)


async def test_every_page_by_its_links(browser: Browser, service: Service, bank: Bank, receiver: Receiver) -> None:
    async with (
        sign_up(service, "alice", "Alice's Coffee") as alice,
        sign_up(service, "bob", "Bob's Books") as bob,
        signed_in_operator(service) as olga,
    ):
        payer_pages, consent = await fill(alice, bob, bank, receiver)
        seen, problems = set[tuple[str, str]](), list[str]()
        for actor, starts in (
            (
                None,
                [
                    *payer_pages,
                    f"{service.url}/signin",
                    f"{service.url}/docs",
                    service.url + await invite(service, "o@house.example"),
                ],
            ),
            (alice, [service.url + path for path in ("/test/home", "/test/saved-filters", consent)]),
            (alice, [f"{service.url}/live/home"]),
            (bob, [f"{service.url}/test/developers/apps", f"{service.url}/test/balance-payments/received"]),
            (olga, [f"{service.url}/operator"]),
        ):
            async with visitor(browser, WIDE, service.url) as someone:
                if actor is not None:
                    await carry_session(someone, actor)
                crawl = Crawl(someone, EVERY_LOOK, seen)
                await crawl.follow(*starts)
                problems += someone.problems
                someone.problems.clear()  # all are reported at the end
    assert problems == []
    missing = sorted(crawl.missing() - set(NOT_LINKED))
    assert not missing, ", ".join(missing)
