"""Each transfer is judged by the moment at which it was seen first: dust, a part or a replaced one extends nothing."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.courier import Courier
from tests.payments.shop import COFFEE, approve_project, choose
from tests.payments.transactions.test_other_currencies import READ_ONLY
from tests.running import CATALOGUE
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.rails.provider import BLOCK_WITHIN, Observation, PaymentTimes
from tollhouse.payments.refunds import reversals
from tollhouse.payments.transactions.link_closing import close_links
from tollhouse.payments.transactions.model import Transaction
from tollhouse.transfers.conversions import prices

YEN = Method(method_id="courier:JPY", name="Yen", type="card", rail="courier", confirmation="minutes")
PRICE_IN_YEN = 420
"""4.20 EUR at 100 JPY for a euro."""

TEN_DAYS = timedelta(days=10)
MINUTE = timedelta(minutes=1)


class Chain:
    """What a network reports of the payments of a merchant, at times of its own."""

    def __init__(self, actor: Actor, services: Services) -> None:
        self.actor, self.services = actor, services
        self.begun_at = clock.now()

    async def attempt(self, method_id: str, **changes: Any) -> str:
        """An attempt to pay a new link."""
        link = (await self.actor.post("/payment-links", COFFEE | changes, mode="live")).ok(201).body
        return (await choose(link, method_id)).ok(303).query["payment"]

    async def report(
        self, payment_id: str, outcome: Any, name: str, minor: int = 0, *, after: timedelta, block: timedelta | None = None
    ) -> Transaction | None:
        """Report a transfer so long after the beginning, which is in a block of this time."""
        observation = Observation(
            reference=f"ticket-{payment_id}",
            outcome=outcome,
            external_ref=f"{payment_id}-{name}",
            amount_minor=minor,
            arrived_at=None if block is None else self.begun_at + block,
        )
        return await reversals.observe(self.services, "courier", "live", observation, self.begun_at + after)

    async def shown(self, payment_id: str) -> tuple[str, str | None, bool, int]:
        """Status, reason, whether it is late, and the euros that are available."""
        found = (await self.actor.get(f"/transactions/{payment_id}", mode="live")).ok().body
        euros = (await self.actor.get("/balances/EUR", mode="live")).ok().body["available_minor"]
        return found["status"], found["refund_required_reason"], found["late"], euros

    async def halve(self, after: timedelta) -> None:
        """Yen are worth half of what they were."""
        at = self.begun_at + after
        await self.services.db.transact(lambda tx: prices.post(tx, {"JPY": "200"}, "olga", at))

    async def settings(self, **changes: Any) -> None:
        """Change the payment settings of the merchant."""
        current = (await self.actor.get("/settings", mode="live")).ok().body
        new = {name: value for name, value in current.items() if name not in READ_ONLY} | changes
        (await self.actor.call("PUT", "/settings", new, mode="live")).ok()


@pytest.fixture
async def chain(alice: Actor, courier: Courier, services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Chain]:
    """A network that carries yen, of which a euro costs 100, and euros."""
    since = last_id()
    monkeypatch.setitem(CATALOGUE.methods, YEN.method_id, YEN)
    monkeypatch.setattr(courier, "times", PaymentTimes(block_within=BLOCK_WITHIN, can_return=True), raising=False)
    await approve_project(alice, "live")
    await services.db.transact(lambda tx: prices.post(tx, {"JPY": "100"}, "olga", clock.now()))
    made = Chain(alice, services)
    await made.settings(additional_currencies=["JPY"])
    yield made
    broken = await broken_invariants(alice.service.dsn, since)
    for statement in (
        "ALTER TABLE conversion_prices DISABLE TRIGGER append_only",
        "DELETE FROM conversion_prices WHERE at > now()",
        "ALTER TABLE conversion_prices ENABLE TRIGGER append_only",
    ):
        await alice.sql(statement)
    assert broken == []


@pytest.mark.parametrize("late_payments", ["accept", "refund_required"])
@pytest.mark.parametrize("dust", ["seen", "confirmed"])
async def test_dust_fixes_no_rate(chain: Chain, dust: str, late_payments: str) -> None:
    """Dust is seen in time. Ten days later, when the currency is worth half, all of it is sent: it has the present rate."""
    paid = await chain.attempt(YEN.method_id, expires_at=(chain.begun_at + timedelta(days=30)).isoformat())
    await chain.settings(additional_currencies=["JPY"], late_payments=late_payments)
    await chain.report(paid, dust, "dust", 1, after=MINUTE, block=None if dust == "seen" else MINUTE)
    await chain.halve(TEN_DAYS - MINUTE)
    await chain.report(paid, "seen", "all", PRICE_IN_YEN, after=TEN_DAYS, block=TEN_DAYS)
    await chain.report(paid, "confirmed", "all", PRICE_IN_YEN, after=TEN_DAYS + MINUTE, block=TEN_DAYS)
    credited = 210
    if late_payments == "accept":
        assert await chain.shown(paid) == ("succeeded", None, True, credited)
    else:
        assert await chain.shown(paid) == ("refund_required", "late", True, 0)


async def test_dust_makes_no_link_payable_after_its_end(chain: Chain) -> None:
    """In the currency of the link, too. What waits for dust alone ends with the link, once no block takes the dust."""
    day, week = timedelta(days=1), timedelta(days=7)
    paid = await chain.attempt("courier:EUR", expires_at=(chain.begun_at + day).isoformat())
    await chain.report(paid, "seen", "dust", 1, after=MINUTE)
    await chain.actor.sql(
        "UPDATE payment_links SET created_at = created_at - interval '8 days', expires_at = $2"
        " WHERE id = (SELECT payment_link_id FROM transactions WHERE id = $1)",
        UUID(paid),
        clock.now() + timedelta(milliseconds=1),
    )
    await chain.report(paid, "confirmed", "all", 420, after=week, block=week)
    assert await chain.shown(paid) == ("refund_required", "late", True, 0)


@pytest.mark.parametrize(
    ("seen", "block", "in_time"),
    [
        (None, timedelta(minutes=14), True),
        (None, timedelta(minutes=15, seconds=30), False),
        (timedelta(minutes=14), timedelta(minutes=130), True),
        (timedelta(minutes=14), timedelta(minutes=140), False),
        (timedelta(minutes=16), timedelta(minutes=14), False),
    ],
    ids=[
        "in a block in time, and reported late, as nobody looked",
        "in a block too late",
        "seen in time, and in a block within two hours",
        "seen in time, and in no block for too long",
        "seen too late, and in a block that claims to be older",
    ],
)
async def test_the_moment_that_decides(chain: Chain, seen: timedelta | None, block: timedelta, *, in_time: bool) -> None:
    paid = await chain.attempt(YEN.method_id)
    if seen is not None:
        await chain.report(paid, "seen", "all", PRICE_IN_YEN, after=seen)
    await chain.halve(timedelta(minutes=20))
    at = timedelta(hours=3)
    await chain.report(paid, "confirmed", "all", PRICE_IN_YEN, after=at, block=block)
    expected = ("succeeded", None, False, 420) if in_time else ("refund_required", "late", True, 0)
    assert await chain.shown(paid) == expected


async def test_a_transfer_keeps_its_moment_and_a_replacement_has_its_own(chain: Chain) -> None:
    """One that leaves and returns, also in another block, was seen when it was seen first. Another transaction was not."""
    kept, replaced = await chain.attempt(YEN.method_id), await chain.attempt(YEN.method_id)
    minute = {number: timedelta(minutes=number) for number in range(60)}
    for paid in (kept, replaced):
        await chain.report(paid, "seen", "first", PRICE_IN_YEN, after=minute[10], block=minute[10])
        await chain.report(paid, "vanished", "first", after=minute[16])
    await chain.report(replaced, "seen", "second", PRICE_IN_YEN, after=minute[17])
    await chain.halve(minute[18])
    await chain.report(kept, "confirmed", "first", PRICE_IN_YEN, after=minute[30], block=minute[20])
    await chain.report(replaced, "confirmed", "second", PRICE_IN_YEN, after=minute[30], block=minute[20])
    assert (await chain.shown(kept))[:3] == ("succeeded", None, False)
    assert await chain.shown(replaced) == ("refund_required", "late", True, 420)


async def test_late_dust_takes_nothing_from_what_was_seen_in_time(chain: Chain) -> None:
    """It waits for a decision beside the payment, which is credited at its rate."""
    paid = await chain.attempt(YEN.method_id)
    await chain.report(paid, "seen", "all", PRICE_IN_YEN, after=MINUTE)
    await chain.halve(timedelta(minutes=20))
    late = timedelta(minutes=30)
    await chain.report(paid, "confirmed", "dust", 1, after=late, block=late)
    assert (await chain.shown(paid))[:2] == ("refund_required", "late")
    await chain.report(paid, "confirmed", "all", PRICE_IN_YEN, after=2 * late, block=late)
    assert await chain.shown(paid) == ("succeeded", None, False, 420)
    found = (await chain.actor.get(f"/transactions/{paid}", mode="live")).ok().body
    assert found["refund_required_amount_minor"] == 1


async def test_a_reinstated_part_keeps_its_moment(chain: Chain) -> None:
    """A part is reversed, the rate expires, and the part is there again: it was seen in time, but its rest was not."""
    paid = await chain.attempt(YEN.method_id)
    await chain.report(paid, "confirmed", "part", 400, after=MINUTE, block=MINUTE)
    await chain.report(paid, "reversed", "part", after=2 * MINUTE)
    await chain.halve(20 * MINUTE)
    await chain.report(paid, "reinstated", "part", after=30 * MINUTE, block=25 * MINUTE)
    await chain.report(paid, "confirmed", "rest", 20, after=31 * MINUTE, block=31 * MINUTE)
    assert await chain.shown(paid) == ("refund_required", "late", True, 0)
    found = (await chain.actor.get(f"/transactions/{paid}", mode="live")).ok().body
    assert found["amount_received_minor"] == PRICE_IN_YEN


async def test_what_waits_for_dust_ends_with_its_link(chain: Chain, services: Services) -> None:
    """Two hours after it was seen: until then it can be in a block in time. What still comes is late."""
    paid = await chain.attempt("courier:EUR")
    await chain.report(paid, "seen", "dust", 1, after=-timedelta(hours=3))
    await chain.actor.sql(
        "UPDATE payment_links SET created_at = now() - interval '1 d', expires_at = now() - interval '1 h'"
        " WHERE id = (SELECT payment_link_id FROM transactions WHERE id = $1)",
        UUID(paid),
    )
    await close_links(services)
    await close_links(services)
    assert (await chain.shown(paid))[0] == "expired"
    rows = await chain.actor.sql("SELECT type FROM webhook_events WHERE source_id = $1", UUID(paid))
    assert [row["type"] for row in rows] == ["payment.expired"]
    await chain.report(paid, "confirmed", "dust", 1, after=MINUTE, block=MINUTE)
    assert await chain.shown(paid) == ("refund_required", "late", True, 0)


async def test_the_database_converts_nothing_at_a_rate_that_is_over(chain: Chain) -> None:
    """Whoever writes a conversion at the fixed rate for money that came too late is refused; a moment is never changed."""
    paid = await chain.attempt(YEN.method_id)
    await chain.settings(additional_currencies=["JPY"], late_payments="accept")
    await chain.halve(20 * MINUTE)
    await chain.report(paid, "seen", "all", PRICE_IN_YEN, after=30 * MINUTE, block=30 * MINUTE)
    await chain.report(paid, "confirmed", "all", PRICE_IN_YEN, after=31 * MINUTE, block=30 * MINUTE)
    assert await chain.shown(paid) == ("succeeded", None, True, 210)
    again = """
        INSERT INTO conversions (id, merchant_id, mode, status, from_currency, to_currency, rate, rate_as_of,
                                 from_amount_minor, fee_minor, to_amount_minor, metadata, created_at, transaction_id)
        SELECT $2, t.merchant_id, t.mode, 'completed', t.currency, t.price_currency, t.rate, t.rate_as_of, 1, 0, 1, '{}',
               $3, t.id FROM transactions t WHERE t.id = $1
    """
    with pytest.raises(asyncpg.CheckViolationError, match="less in time than was converted"):
        await chain.actor.sql(again, UUID(paid), uuid4(), chain.begun_at + 31 * MINUTE)
    earlier: datetime = chain.begun_at
    with pytest.raises(asyncpg.PostgresError):
        await chain.actor.sql(
            "UPDATE incoming_transfers SET first_seen_at = $2 WHERE transaction_id = $1", UUID(paid), earlier
        )
    with pytest.raises(asyncpg.PostgresError):
        await chain.actor.sql("DELETE FROM incoming_transfers WHERE transaction_id = $1", UUID(paid))
