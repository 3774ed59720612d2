"""What the card provider takes and pays out is in the ledger, once, however and in whatever order it is read."""

import asyncio
import time
from uuid import UUID

import asyncpg
import msgspec
import pytest

from tests.payments.bank import refund
from tests.rails.cards.balance.books import Books
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import RailUnavailableError
from tollhouse.ledger.books.model import JournalEntry, Posting, PostingType, Source, expense, rail
from tollhouse.ledger.books.post import post_platform
from tollhouse.payments.refunds.jobs import submit_refunds
from tollhouse.rails.cards import balance_store as store
from tollhouse.rails.cards import balances, payments
from tollhouse.rails.cards.stripe.cards import StripeCards


async def test_fees_and_payouts_are_posted_once(books: Books) -> None:
    before, total = await books.balances(), books.balance.total["eur"]
    payment_id, _ = await books.shop.sell(amount="20.00")
    payout = books.balance.pay_out(1_500, fee=15)
    books.balance.add("fee", -40)
    for _ in range(3):
        await books.read()
    assert await books.moved(before) == (2_000 - 25 - 1_515 - 40, 1_500, 80)
    assert await books.shop.purse() == (2_000, 0, 0)  # merchants pay the fees of the catalogue
    asked = (await refund(books.shop.alice, {"id": payment_id}, "5.00", mode="live")).ok(201).body
    for _ in range(2):  # it is submitted, then polled
        await books.shop.alice.sql("UPDATE refunds SET next_look_at = created_at WHERE id = $1::uuid", asked["id"])
        await submit_refunds(books.services)
        await books.read()
    books.balance.add("payout_reversal", 1_500, payout["source"])
    books.balance.add("fee", 10)
    await books.read()
    assert await books.moved(before) == (2_000 - 25 - 15 - 40 - 500 + 10, 0, 70)
    assert await books.open() == []
    assert (await books.moved(before))[0] == books.balance.total["eur"] - total


async def test_two_workers_read_and_settle_at_once(books: Books) -> None:
    before = await books.balances()
    books.balance.per_page = 3
    for amount in range(100, 110):
        books.balance.pay_out(amount, fee=1)
    await asyncio.gather(*(books.read() for _ in range(4)))
    await books.read()
    books.balance.per_page = 100
    assert await books.moved(before) == (-1_055, 1_045, 10)
    assert await books.open() == []


async def test_what_was_read_is_settled_by_the_next_worker(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies between two pages, after the last one, or before its transaction is committed."""
    before = await books.balances()
    books.balance.per_page = 2
    for _ in range(3):
        books.balance.pay_out(100)
    until = await store.get_read_until(books.services.db, "card", "live")

    class DiedError(Exception):
        """As if it had been killed."""

    async def die(*_: object) -> None:
        raise DiedError

    insert, stored = store.insert, list[int]()

    async def insert_once(*arguments: object) -> None:
        if stored:
            raise DiedError
        stored.append(1)
        await insert(*arguments)  # pyright: ignore[reportArgumentType]

    for name, replacement in (("insert", insert_once), ("advance", die)):
        with monkeypatch.context() as patch:
            patch.setattr(store, name, replacement)
            with pytest.raises(DiedError):
                await books.read()
        assert await store.get_read_until(books.services.db, "card", "live") == until
    with monkeypatch.context() as patch:
        patch.setattr(balances, "post_platform", die)
        with pytest.raises(DiedError):
            await books.read()
    assert await books.moved(before) == (0, 0, 0)
    assert len(await books.open()) == 3
    await books.read()
    books.balance.per_page = 100
    assert await books.moved(before) == (-300, 300, 0)


async def test_what_is_listed_late_is_read_later(books: Books) -> None:
    """Within the overlap at once, and by the hourly reading within days."""
    before = await books.balances()
    soon = books.balance.pay_out(100)
    later = books.balance.pay_out(200, created=int(time.time()) - 86_400)
    books.balance.late |= {soon["id"], later["id"]}
    await books.read()
    books.balance.late.clear()
    await books.read()
    assert await books.moved(before) == (-100, 100, 0)
    await payments.read_balance_transactions_again(books.services)
    await balances.settle(books.services, books.cards, clock.now())
    assert await books.moved(before) == (-300, 300, 0)


async def test_fees_wait_for_their_payment(books: Books) -> None:
    """A payment that was charged and has not been reported here: nothing is posted before it is."""
    before = await books.balances()
    _, payment_id, page_id = await books.shop.offer(amount="20.00")
    intent = await books.shop.provider.pay(page_id)
    await books.read()
    assert await books.moved(before) == (0, 0, 0)
    assert await books.open() == [books.balance.transactions[-1]["id"]]
    await books.shop.report("payment_intent.succeeded", intent["id"])
    assert (await books.shop.payment(payment_id))["status"] == "succeeded"
    await books.read()
    assert await books.moved(before) == (1_975, 0, 25)


async def test_disputes_settle_with_their_reversals(books: Books) -> None:
    _, intent_id = await books.shop.sell(amount="20.00")
    await books.read()
    before = await books.balances()
    dispute = books.shop.provider.disputes.open(intent_id, 2_000)
    source = {"id": dispute["id"], "object": "dispute", "payment_intent": intent_id}
    books.balance.add("dispute", -2_000, source, fee=1_500)
    await books.read()
    assert (await books.moved(before), len(await books.open())) == ((0, 0, 0), 1)
    await books.shop.report("charge.dispute.created", dispute["id"])
    books.balance.add("dispute_reversal", 2_000, source, fee=-1_500)
    await books.read()
    assert (await books.moved(before), len(await books.open())) == ((-3_500, 0, 1_500), 1)
    dispute["status"] = "won"
    await books.shop.report("charge.dispute.closed", dispute["id"])
    await books.read()
    assert (await books.moved(before), await books.open()) == ((0, 0, 0), [])


async def test_what_was_made_at_the_provider_by_hand_is_not_posted(books: Books) -> None:
    """Whatever it claims to be: a payment without our metadata, of another payment, a refund, a transfer."""
    before = await books.balances()
    payment_id, intent_id = await books.shop.sell(amount="20.00")
    await books.read()
    known = books.balance.transactions[-1]["source"]
    by_hand = [  # together nothing
        books.balance.add("charge", 900, {"id": "ch_1", "payment_intent": "pi_1", "metadata": {}}, fee=30),
        books.balance.add("charge", 900, known | {"id": "ch_2", "payment_intent": "pi_2"}, fee=30),
        books.balance.add("charge", -900, known | {"id": "ch_2", "payment_intent": "pi_2"}, fee=-30),
        books.balance.add("charge", 900, {"id": "ch_3", "metadata": {"tollhouse_payment": payment_id}}, fee=30),
        books.balance.add("refund", -900, {"id": "re_1", "payment_intent": intent_id, "metadata": {}}),
        books.balance.add("refund", -900, {"id": "re_2", "metadata": {"tollhouse_refund": payment_id}}),
        books.balance.add("refund", -900, {"id": "re_3", "metadata": {"tollhouse_refund": "nothing"}}),
        books.balance.add("dispute", -900, {"id": "du_1", "payment_intent": "pi_3"}, fee=1_500),
        books.balance.add("topup", 5_000, {"id": "tu_1"}),
        books.balance.add("other_adjustment", -1_640),
    ]
    await books.read()
    assert await books.moved(before) == (1_975, 0, 25)
    assert await books.open() == sorted(one["id"] for one in by_hand)


async def test_amounts_without_minor_units(books: Books) -> None:
    books.balance.pay_out(500, currency="jpy", fee=3)
    books.balance.pay_out(500, currency="xyz")  # not in the catalogue
    await books.read()
    assert await books.moved({}, "JPY") == (-503, 500, 3)


async def test_a_balance_of_the_test_mode_is_refused_unless_it_is_meant(books: Books, services: Services) -> None:
    before = await books.balances()
    account = books.shop.provider.account
    live_only = StripeCards(msgspec.structs.replace(account, takes_test_payments=False))
    books.balance.pay_out(100)
    with pytest.raises(RailUnavailableError, match="test mode"):
        await balances.read_new(services, live_only, clock.now())
    assert await books.moved(before) == (0, 0, 0)
    books.balance.livemode = True
    await balances.read_new(services, live_only, clock.now())
    books.balance.livemode = False
    await books.read()
    assert await books.moved(before) == (-100, 100, 0)


async def test_the_database_takes_only_what_the_provider_took(books: Books) -> None:
    """Neither another amount, nor as a payout what was a fee, nor before it is settled; and rows are facts."""
    fee = books.balance.add("fee", -40)
    await balances.read_new(books.services, books.cards, clock.now())
    [row] = await books.shop.alice.sql("SELECT id FROM provider_balance_transactions WHERE external_id = $1", fee["id"])
    await _refused(books, row["id"], "provider_fee", 40)
    settled = "UPDATE provider_balance_transactions SET settled_at = now() WHERE id = $1"
    refused: tuple[tuple[PostingType, int], ...] = (("provider_fee", 39), ("provider_fee", 41), ("provider_payout", 40))
    for kind, amount_minor in refused:
        await _refused(books, row["id"], kind, amount_minor, settled)
    await books.read()
    for change in ("SET fee_minor = 1", "SET settled_at = NULL", "SET kind = 'other'"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="never changed"):
            await books.shop.alice.sql(f"UPDATE provider_balance_transactions {change} WHERE id = $1", row["id"])
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="never changed"):
        await books.shop.alice.sql("DELETE FROM provider_balance_transactions WHERE id = $1", row["id"])


async def _refused(books: Books, row_id: UUID, kind: PostingType, amount_minor: int, before: str | None = None) -> None:
    async def take(work: Work) -> None:
        if before is not None:
            await work.tx.execute(before, row_id)
        posting = Posting(kind, "EUR", amount_minor, expense("provider_fee"), rail("card"))
        await post_platform(work, [JournalEntry("live", kind, Source("balance_transaction", row_id), (posting,))])

    with pytest.raises(asyncpg.CheckViolationError, match="released transfer"):
        await books.services.transact(take, clock.now())


async def test_the_job_reads_each_minute(books: Books) -> None:
    before = await books.balances()
    due = "UPDATE provider_balance_cursors SET next_read_at = now() + $1::interval"
    books.balance.pay_out(100)
    await books.shop.alice.sql(due, payments.READ_BALANCE_EVERY)
    await payments.read_balance_transactions(books.services)
    assert await books.moved(before) == (0, 0, 0)
    await books.shop.alice.sql(due, -payments.READ_BALANCE_EVERY)
    books.shop.provider.is_down = True
    await payments.read_balance_transactions(books.services)
    books.shop.provider.is_down = False
    assert await books.moved(before) == (0, 0, 0)
    await books.shop.alice.sql(due, -payments.READ_BALANCE_EVERY)
    await payments.read_balance_transactions(books.services)
    assert await books.moved(before) == (-100, 100, 0)
