"""Deposits on a real node: credited when their block is final, once, and never for what did not arrive."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.rails.evm.anvil import Anvil
from tests.rails.evm.offering import address
from tests.rails.evm.receiving import ETHER, MINOR, Receiver, new_xpub
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.payments.links.model import MethodUnavailable
from tollhouse.rails.chains import following, store
from tollhouse.rails.chains.model import LEASE
from tollhouse.rails.evm.watcher import look

PAID_MINOR = 150_000_000


@pytest.fixture
async def receiver(alice: Actor, services: Services, chain: Anvil) -> AsyncIterator[Receiver]:
    """A rail whose worker has looked once; the invariants hold after each test."""
    since = last_id()
    made = Receiver(alice, services, chain, await chain.deploy("Token", "USD Coin", "USDC", 6))
    await made.look()
    yield made
    assert await broken_invariants(alice.service.dsn, since) == []


@pytest.mark.covers("P-162")
async def test_ether_is_seen_then_credited_when_its_block_is_final(receiver: Receiver) -> None:
    paid = await receiver.offer()
    assert paid.instructions.pay_amount == "1.50000000"
    assert paid.instructions.uri == f"ethereum:{address(paid)}@31337?value={3 * ETHER // 2}"
    await receiver.look()
    assert await receiver.status(paid) == ("pending", 0)
    await receiver.chain.sent(address(paid), 3 * ETHER // 2)
    await receiver.look()
    found = await receiver.payment(paid.id)
    assert (found.status, found.received_minor, found.confirmations) == ("processing", 0, 1)
    await receiver.chain.mine(2)
    await receiver.look()
    assert (await receiver.payment(paid.id)).confirmations == 3
    await receiver.settle()
    assert await receiver.status(paid) == ("succeeded", PAID_MINOR)
    for _ in range(2):
        await receiver.settle()
    assert await receiver.rows(paid) == [("confirmed", PAID_MINOR)]
    assert await receiver.status(paid) == ("succeeded", PAID_MINOR)


@pytest.mark.covers("P-162")
async def test_a_deposit_that_a_reorganisation_dropped_is_never_credited(receiver: Receiver) -> None:
    """The customer's transaction is in no block any more. Sent again, it is credited once."""
    dropped, comes_back = await receiver.offer(), await receiver.offer("USDC", "20")
    await receiver.chain.sent(address(dropped), 3 * ETHER // 2)
    await receiver.chain.transact(receiver.token, "mint", receiver.chain.accounts[0], 20_000_000)
    await receiver.chain.transact(receiver.token, "transfer", address(comes_back), 20_000_000)
    await receiver.look()
    assert [(await receiver.payment(one.id)).status for one in (dropped, comes_back)] == ["processing"] * 2
    await receiver.chain.reorganize(3)
    await receiver.look()
    assert [await receiver.status(one) for one in (dropped, comes_back)] == [("pending", 0)] * 2
    await receiver.chain.transact(receiver.token, "mint", receiver.chain.accounts[0], 20_000_000)
    await receiver.chain.transact(receiver.token, "transfer", address(comes_back), 20_000_000)
    await receiver.look()
    assert await receiver.status(comes_back) == ("processing", 0)
    await receiver.settle()
    await receiver.settle()
    assert await receiver.status(dropped) == ("pending", 0)
    assert await receiver.status(comes_back) == ("succeeded", 20_000_000)


@pytest.mark.covers("P-164")
async def test_what_did_not_arrive_is_not_credited(receiver: Receiver) -> None:
    """Reverted transfers of ether and tokens, tokens of another contract, and events without money behind them."""
    chain, token = receiver.chain, receiver.token
    reverted, faked, invented = [await receiver.offer("USDC", "20") for _ in range(3)]
    ether = await receiver.offer()
    await chain.transact(token, "mint", chain.accounts[0], 100_000_000)
    await chain.transact(token, "setTransfers", 2)
    assert not (await chain.transact(token, "transfer", address(reverted), 20_000_000)).succeeded
    await chain.transact(token, "setTransfers", 1)
    await chain.transact(token, "transfer", address(reverted), 20_000_000)
    await chain.transact(token, "setTransfers", 0)
    fake = await chain.deploy("Token", "USD Coin", "USDC", 6)
    await chain.transact(fake, "mint", address(faked), 20_000_000)
    await chain.transact(token, "emitTransfer", chain.accounts[0], address(invented), 20_000_000)
    assert not (await chain.sent(token.address, 3 * ETHER // 2)).succeeded  # the contract takes no ether
    await receiver.settle()
    await receiver.settle()
    for one in (reverted, faked, invented, ether):
        assert await receiver.status(one) == ("pending", 0)


async def test_what_arrived_is_credited_however_it_came(receiver: Receiver) -> None:
    """Two transfers in one transaction, ether sent by a contract, a fee on the transfer, dust, another asset."""
    chain, token = receiver.chain, receiver.token
    by_contract, twice, dust = [await receiver.offer() for _ in range(3)]
    less, other = await receiver.offer("USDC", "20"), await receiver.offer()
    sender = await chain.deploy("Sender")
    await chain.sent(sender.address, 3 * ETHER // 2, sender.data("send", address(by_contract)))
    await chain.sent(address(twice), ETHER)
    await chain.sent(address(twice), ETHER // 2)
    await chain.sent(address(dust), MINOR - 1)
    await chain.transact(token, "mint", chain.accounts[0], 100_000_000)
    await chain.transact(token, "setFee", 1000)
    await chain.transact(token, "transfer", address(less), 20_000_000)
    await chain.transact(token, "setFee", 0)
    await chain.transact(token, "transfer", address(other), 5_000_000)
    await receiver.settle()
    await receiver.settle()
    assert await receiver.status(by_contract) == ("succeeded", PAID_MINOR)
    assert await receiver.status(twice) == ("succeeded", PAID_MINOR)
    assert await receiver.status(dust) == ("pending", 0)
    assert await receiver.status(less) == ("pending", 18_000_000)
    assert await receiver.status(other) == ("pending", 0)  # dollars for a price in ether: a payment of their own
    [row] = await receiver.services.db.fetch(
        "SELECT status, refund_required_reason, currency, received_minor FROM transactions"
        " WHERE payment_link_id = $1 AND id <> $2",
        other.payment_link_id,
        other.id,
    )
    assert tuple(row) == ("refund_required", "wrong_asset", "USDC", 5_000_000)


@pytest.mark.covers("P-166")
async def test_a_rail_without_its_node_is_listed_and_down(receiver: Receiver) -> None:
    assert await receiver.error() is None
    waiting = await receiver.offer()
    network = receiver.network
    url = network.settings.node_url
    network.settings = msgspec.structs.replace(network.settings, node_url="http://127.0.0.1:9")
    await receiver.look()
    assert await receiver.error() == "provider_down"
    with pytest.raises(MethodUnavailable):
        await receiver.offer()
    assert await receiver.status(waiting) == ("pending", 0)
    network.settings = msgspec.structs.replace(network.settings, node_url=url, chain_id=1)
    await receiver.look()
    assert await receiver.error() == "provider_down"  # the node is of another network
    network.settings = msgspec.structs.replace(network.settings, chain_id=31337)
    await receiver.look()
    assert await receiver.error() is None
    await receiver.chain.sent(address(waiting), 3 * ETHER // 2)
    await receiver.settle()
    await receiver.settle()
    assert await receiver.status(waiting) == ("succeeded", PAID_MINOR)
    assert network.measured is not None
    network.measured = msgspec.structs.replace(network.measured, checked_at=clock.now() - timedelta(hours=1))
    assert receiver.services.rails.error(receiver.name, "live", "ETH") == "provider_down"  # its worker has gone


async def test_an_address_that_somebody_changed_is_noticed_and_nothing_is_offered(receiver: Receiver) -> None:
    """In the book, where a trigger forbids it, and in what the customer sees."""
    since = last_id()
    paid, db = await receiver.offer(), receiver.services.db
    redirect = "UPDATE deposit_addresses SET address = 'x' WHERE rail = $1 AND attempt_id = $2"
    with pytest.raises(asyncpg.PostgresError, match="does not change"):
        await db.execute(redirect, receiver.name, paid.id)
    theirs = "0x" + "1" * 40
    change = "UPDATE transactions SET instructions = instructions || jsonb_build_object('address', $2::text) WHERE id = $1"
    await db.execute(change, paid.id, theirs)
    await receiver.look()
    assert await receiver.error() == "provider_down"
    [broken] = await broken_invariants(receiver.actor.service.dsn, since)
    assert theirs in broken
    await db.execute(change, paid.id, address(paid))
    await receiver.look()
    assert await receiver.error() is None


async def test_a_changed_address_keeps_the_rail_down_until_it_is_right_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many addresses are verified at once: the one that is wrong is the second here."""
    monkeypatch.setattr(following, "VERIFIED_AT_ONCE", 1)
    _, second = await receiver.offer(), await receiver.offer()
    change = "UPDATE transactions SET instructions = instructions || jsonb_build_object('address', $2::text) WHERE id = $1"
    await receiver.services.db.execute(change, second.id, "0x" + "1" * 40)
    while await receiver.error() is None:
        await receiver.look()
    for _ in range(3):
        await receiver.look()
        assert await receiver.error() == "provider_down"
    await receiver.services.db.execute(change, second.id, address(second))
    await receiver.look()
    assert await receiver.error() is None


async def test_a_wallet_that_was_exchanged_is_noticed(receiver: Receiver) -> None:
    await receiver.offer()
    receiver.network.settings = msgspec.structs.replace(receiver.network.settings, xpub=new_xpub())
    await receiver.look()
    assert await receiver.error() == "provider_down"


async def test_two_workers_credit_once(receiver: Receiver) -> None:
    """Also when the lease of the first one ends in the middle."""
    paid = [await receiver.offer() for _ in range(4)]
    for payment in paid:
        await receiver.chain.sent(address(payment), 3 * ETHER // 2)
    await receiver.chain.finalize()
    await asyncio.gather(*(following.watch_once(receiver.services, receiver.network, look, clock.now()) for _ in range(3)))
    other = clock.now() + 2 * LEASE
    await asyncio.gather(receiver.look(), following.watch_once(receiver.services, receiver.network, look, other))
    await receiver.settle()
    assert [await receiver.status(payment) for payment in paid] == [("succeeded", PAID_MINOR)] * 4
    assert not (await store.lease(receiver.services.db, receiver.name, "live", paid[0].id, clock.now(), LEASE))[0]


async def test_one_address_for_each_attempt(receiver: Receiver) -> None:
    """Attempts that begin at once have different ones; one that does not begin gives its address back."""
    free = "SELECT count(*) AS free FROM deposit_addresses WHERE rail = $1 AND attempt_id IS NULL"
    await receiver.offer()  # the first one has a project approved
    one, two = await asyncio.gather(receiver.offer(), receiver.offer())
    assert address(one) != address(two)
    [before] = await receiver.services.db.fetch(free, receiver.name)
    link = await receiver.services.db.fetch("SELECT token FROM payment_links WHERE id = $1", one.payment_link_id)
    again = await receiver.choose(link[0]["token"], "ETH", clock.now())
    assert again.id == one.id
    [after] = await receiver.services.db.fetch(free, receiver.name)
    assert before["free"] == after["free"]
