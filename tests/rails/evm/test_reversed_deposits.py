"""Reorganisations deeper than the configured confirmations: what is gone is reversed, what comes back is reinstated."""

from collections.abc import AsyncIterator
from random import Random
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.rails.evm.fake_chain import ChainTx, FakeChain, Move
from tests.rails.evm.fake_node import FakeNode, answering
from tests.rails.evm.receiving import ETHER, DepositRail, address
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, available, equity
from tollhouse.ledger.books.post import post_now
from tollhouse.payments.transactions.model import Transaction

PAID_MINOR, DOLLARS = 150_000_000, 20_000_000
TOKEN = f"0x{'d' * 40}"
FINALITY, START = 3, 20
REVERSALS = "SELECT status, amount_minor FROM payment_reversals WHERE rail = $1 ORDER BY reported_at, id"
RAIL_BALANCE = """
    SELECT p.currency, sum(CASE WHEN d.code = $1 THEN p.amount ELSE -p.amount END)::bigint AS minor
    FROM ledger_postings p
    JOIN ledger_accounts d ON d.id = p.debit_account_id JOIN ledger_accounts c ON c.id = p.credit_account_id
    WHERE $1 IN (d.code, c.code) GROUP BY p.currency
"""


class ReorganizedRail(DepositRail):
    """A rail on a network in memory, where blocks are final after three confirmations."""

    def __init__(self, actor: Actor, services: Services, node: FakeNode) -> None:
        super().__init__(actor, services, node.url, TOKEN, finality=FINALITY)
        self.chain = node.chain

    async def pay(self, payment: Transaction, units: int, *, is_internal: bool = False) -> ChainTx:
        """A customer pays, and the block is final."""
        tx = self.chain.pay(Move(self.contract_of(payment), address(payment).lower(), units), is_internal=is_internal)
        await self.settle(tx)
        return tx

    def drop(self, blocks: int | None = None) -> None:
        """Replace all blocks since the beginning, by so many, or one more."""
        self.chain.reorganize(self.chain.head.number - START, blocks=blocks)

    async def settle(self, *returning: ChainTx) -> None:
        """These are in a block, which becomes final, and the worker sees it."""
        self.chain.mempool.extend(tx for tx in returning if tx not in self.chain.mempool)
        self.chain.mine(FINALITY)
        await self.look()
        await self.look()

    def contract_of(self, payment: Transaction) -> str | None:
        """The contract of the token that a payment is in."""
        return TOKEN if payment.currency == "USDC" else None

    async def reversals(self) -> list[tuple[str, int]]:
        """Status and amount of the reversals of this rail."""
        return [(row["status"], row["amount_minor"]) for row in await self.services.db.fetch(REVERSALS, self.name)]

    async def booked(self) -> dict[str, int]:
        """What the ledger counts at this rail, by currency."""
        return {row["currency"]: row["minor"] for row in await self.services.db.fetch(RAIL_BALANCE, f"rail:{self.name}")}


@pytest.fixture
async def rail(alice: Actor, services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ReorganizedRail]:
    """A rail whose worker has looked once; the invariants hold after each test."""
    since = last_id()
    chain = FakeChain(Random(1))  # noqa: S311 - the same each time
    chain.mine(START)
    with answering(FakeNode(chain, f"fake://{uuid4()}", FINALITY), monkeypatch) as node:
        made = ReorganizedRail(alice, services, node)
        await made.look()
        yield made
    assert await broken_invariants(alice.service.dsn, since) == []


@pytest.mark.long
@pytest.mark.covers("P-163")
async def test_what_a_deep_reorganisation_drops_is_reversed_and_reinstated_when_it_is_back(rail: ReorganizedRail) -> None:
    """Reported when the new chain is final up to the height of the deposit, and not before."""
    paid = await rail.offer()
    tx = await rail.pay(paid, 3 * ETHER // 2)
    assert await rail.status(paid) == ("succeeded", PAID_MINOR)
    first_branch = rail.chain.head.hash
    rail.drop(1)
    await rail.look()
    assert await rail.rows(paid) == [("lost", PAID_MINOR)]
    assert await rail.status(paid) == ("succeeded", PAID_MINOR)
    await rail.settle()
    assert await rail.rows(paid) == [("reversed", PAID_MINOR)]
    assert (await rail.payment(paid.id)).status == "chargeback"
    assert await rail.booked() == {"ETH": 0}
    await rail.settle()
    await rail.settle(tx)
    assert await rail.rows(paid) == [("confirmed", PAID_MINOR)]
    assert await rail.status(paid) == ("succeeded", PAID_MINOR)
    second_branch = rail.chain.head.hash
    for branch, status in ((first_branch, "confirmed"), (second_branch, "confirmed")):
        rail.chain.return_to(branch)
        await rail.settle()
        assert await rail.rows(paid) == [(status, PAID_MINOR)]
    assert await rail.reversals() == [("reinstated", PAID_MINOR)]
    assert await rail.booked() == {"ETH": PAID_MINOR}


async def test_the_same_block_can_be_dropped_twice(rail: ReorganizedRail) -> None:
    """Each time is a reversal of its own."""
    paid = await rail.offer()
    await rail.pay(paid, 3 * ETHER // 2)
    with_it = rail.chain.head.hash
    rail.drop()
    await rail.settle()
    without = rail.chain.head.hash
    expected = [("reversed", PAID_MINOR)]
    for _ in range(2):
        assert await rail.reversals() == expected
        assert ((await rail.payment(paid.id)).status, await rail.booked()) == ("chargeback", {"ETH": 0})
        rail.chain.return_to(with_it)
        await rail.settle()
        with_it = rail.chain.head.hash
        assert (await rail.status(paid), await rail.booked()) == (("succeeded", PAID_MINOR), {"ETH": PAID_MINOR})
        rail.chain.return_to(without)
        await rail.settle()
        without = rail.chain.head.hash
        expected = [("reinstated", PAID_MINOR), *expected]


async def test_what_is_in_another_block_of_the_new_chain_stays_credited(rail: ReorganizedRail) -> None:
    """Ether, tokens, and ether that a contract sent."""
    paid = [await rail.offer(), await rail.offer("USDC", "20"), await rail.offer()]
    txs = [
        await rail.pay(paid[0], 3 * ETHER // 2),
        await rail.pay(paid[1], DOLLARS),
        await rail.pay(paid[2], 3 * ETHER // 2, is_internal=True),
    ]
    rail.drop(0)
    rail.chain.mempool.extend(txs)
    rail.chain.mine(30)
    await rail.look()
    await rail.settle()
    for payment in paid:
        assert [status for status, _ in await rail.rows(payment)] == ["confirmed"]
        assert (await rail.payment(payment.id)).status == "succeeded"
    assert await rail.reversals() == []
    assert await rail.booked() == {"ETH": 2 * PAID_MINOR, "USDC": DOLLARS}


async def test_another_amount_on_the_new_chain_is_another_deposit(rail: ReorganizedRail) -> None:
    """A token that keeps a fee now, and ether by contracts that was sent in other parts."""
    dollars, ether = await rail.offer("USDC", "20"), await rail.offer()
    token = await rail.pay(dollars, DOLLARS)
    await rail.pay(ether, 3 * ETHER // 2, is_internal=True)
    rail.drop(0)
    rail.chain.mempool.append(token)
    rail.chain.pay(Move(None, address(ether).lower(), ETHER), is_internal=True)
    rail.chain.token_fee_percent = 10
    rail.chain.mine(20)
    rail.chain.token_fee_percent = 0
    await rail.settle()
    assert sorted(await rail.rows(dollars)) == [("confirmed", DOLLARS * 9 // 10), ("reversed", DOLLARS)]
    assert sorted(await rail.rows(ether)) == [("confirmed", 100_000_000), ("reversed", PAID_MINOR)]
    assert await rail.booked() == {"ETH": 100_000_000, "USDC": DOLLARS * 9 // 10}
    assert [status for status, _ in await rail.reversals()] == ["reversed"] * 2


async def test_nothing_is_reversed_before_the_balances_are_known(rail: ReorganizedRail) -> None:
    """A node that forgot the state cannot say that ether from a contract is gone."""
    paid = await rail.offer()
    tx = await rail.pay(paid, 3 * ETHER // 2, is_internal=True)
    rail.drop(0)
    rail.chain.mempool.append(tx)
    rail.chain.mine(20)
    rail.chain.forgets = True
    await rail.look()
    assert await rail.rows(paid) == [("lost", PAID_MINOR)]
    rail.chain.forgets = False
    await rail.settle()
    assert await rail.rows(paid) == [("confirmed", PAID_MINOR)]
    assert await rail.reversals() == []


async def test_a_balance_at_its_limit_delays_a_reinstatement_and_nothing_else(rail: ReorganizedRail) -> None:
    back, other = await rail.offer(), await rail.offer("USDC", "20")
    tx = await rail.pay(back, 3 * ETHER // 2)
    rail.drop()
    await rail.settle()
    assert (await rail.payment(back.id)).status == "chargeback"

    async def adjust(work: Work, minor: int) -> None:
        accounts = (equity("adjustment"), available(rail.env))
        debit, credit = accounts if minor > 0 else accounts[::-1]
        posting = Posting("adjustment", "ETH", abs(minor), debit, credit)
        await post_now(work, JournalEntry("live", "adjustment", Source("test", uuid4()), (posting,)))

    full = MINOR_MAX - 1
    await rail.services.transact(lambda work: adjust(work, full), clock.now())
    rail.chain.pay(Move(TOKEN, address(other).lower(), DOLLARS))
    await rail.settle(tx)
    assert await rail.rows(back) == [("reinstated", PAID_MINOR)]
    assert (await rail.payment(back.id)).status == "chargeback"
    assert await rail.status(other) == ("succeeded", DOLLARS)
    await rail.services.transact(lambda work: adjust(work, -full), clock.now())
    await rail.look()
    assert await rail.rows(back) == [("confirmed", PAID_MINOR)]
    assert await rail.status(back) == ("succeeded", PAID_MINOR)


async def test_an_event_without_money_is_not_on_its_way_for_ever(rail: ReorganizedRail) -> None:
    """It was shown before its block was final."""
    paid = await rail.offer("USDC", "20")
    rail.chain.token_fee_percent = 100
    rail.chain.pay(Move(TOKEN, address(paid).lower(), DOLLARS))
    rail.chain.mine()
    rail.chain.token_fee_percent = 0
    await rail.look()
    assert await rail.status(paid) == ("processing", 0)
    await rail.settle()
    assert await rail.status(paid) == ("pending", 0)
    assert await rail.rows(paid) == [("ignored", 0)]
