"""Payouts on a real node: signed once, sent until they are final, on the chain once."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import msgspec
import pytest

from tests.command import NURSERY
from tests.invariants import broken_invariants, last_id
from tests.rails.evm.paying import MINOR, Payer, make_network, make_payouts
from tests.running import Service
from tollhouse.instance import catalogue_file
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import PayoutOrder, RefundOrder, Submission
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.node import EvmNode
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.signer.server import CALLERS_MAX
from tollhouse.rails.json_rpc import CONNECTIONS_MAX, NodeUnreachableError

LATER = timedelta(minutes=10)
AS_IF_SIGNING = """
    INSERT INTO chain_payouts (id, kind, rail, mode, chain_id, currency, receiver, amount_units, status, wallet, nonce,
                               gas, fee_per_gas, tip_per_gas, created_at, updated_at)
    VALUES ($1, 'withdrawal', $2, 'live', $3, 'ETH', $4, 1, 'reserved', $5, 99, 21000, 1, 1, now(), now())
"""


async def test_a_payout_is_completed_when_its_block_is_final(payer: Payer) -> None:
    order = await payer.order(150_000_000)  # 1.5 ether
    assert (await payer.network.payout_state(order, clock.now())).outcome == "absent"
    accepted = await payer.pay(order)
    assert accepted == Submission("accepted", (await payer.hashes(order))[0])
    assert (await payer.network.payout_state(order, clock.now())).outcome == "pending"
    await payer.chain.mine()
    assert await payer.check(order) == "mined"
    assert await payer.pay(order) == accepted  # again, by a second worker
    await payer.settle()
    assert await payer.check(order) == "completed"
    assert await payer.received_wei() == 150_000_000 * MINOR
    state, stored = await payer.network.payout_state(order, clock.now()), await payer.stored(order)
    assert (state.outcome, state.tx_hash) == ("succeeded", accepted.provider_reference)
    assert stored.fee_wei is not None
    assert state.network_fee_minor == -(-stored.fee_wei // MINOR) > 0
    assert len(payer.signer.journal.entries) == 1
    assert await payer.booked() == 0  # it is charged with the withdrawal


async def test_a_refund_is_paid_once(payer: Payer, service: Service) -> None:
    """Its fee is an expense."""
    since = last_id()
    paid = await payer.order(5_000_000, kind="refund")
    refund = RefundOrder(paid.id, "address", "ETH", paid.amount_minor, paid.receiver, paid.amount_minor, clock.now())
    accepted = await payer.network.refund(refund)
    assert await payer.network.refund(refund) == accepted
    assert (await payer.network.refund_state(refund, clock.now())).outcome == "pending"
    await payer.settle()
    assert await payer.check(paid) == "completed"
    assert (await payer.network.refund_state(refund, clock.now())).outcome == "succeeded"
    assert await payer.received_wei() == 5_000_000 * MINOR
    assert await payer.booked() == -(-((await payer.stored(paid)).fee_wei or 0) // MINOR) > 0
    assert [line for line in await broken_invariants(service.dsn, since) if "I20" in line] == []


async def test_a_token_is_paid_and_a_refused_one_is_not(payer: Payer) -> None:
    """The node's estimate shows what would be reverted; what is reverted all the same fails when it is final."""
    order = await payer.order(123_000_000, "USDC")
    await payer.pay(order)
    await payer.settle()
    assert await payer.check(order) == "completed"
    assert await payer.chain.read(payer.token, "balanceOf", payer.receiver) == 123_000_000
    state = await payer.network.payout_state(order, clock.now())
    assert (state.outcome, state.network_fee_minor) == ("succeeded", 0)
    booked = -(-((await payer.stored(order)).fee_wei or 0) // MINOR)
    assert await payer.check(order) == "completed"
    assert await payer.booked() == booked > 0  # once
    late = await payer.order(1_000_000, "USDC")
    await payer.pay(late)
    price = {"maxFeePerGas": hex(10**12), "maxPriorityFeePerGas": hex(10**11)}  # more, so it comes first in the block
    data, sender = payer.token.data("setBlocked", payer.receiver, True), payer.chain.accounts[0]
    order_of_issuer = {"from": sender, "to": payer.token.address, "data": data, "gas": hex(100_000), **price}
    await payer.chain.rpc("eth_sendTransaction", order_of_issuer)
    await payer.settle()
    assert await payer.check(late) == "failed"
    assert (await payer.network.payout_state(late, clock.now())).failure_code == "payout_declined"
    assert await payer.booked() == booked + -(-((await payer.stored(late)).fee_wei or 0) // MINOR) > booked
    silent = await payer.order(1_000_000, "USDC")
    assert await payer.pay(silent) == Submission("rejected", failure_code="payout_declined")
    assert not await payer.hashes(silent)
    await payer.chain.transact(payer.token, "setBlocked", payer.receiver, False)
    await payer.chain.transact(payer.token, "setTransfers", 1)  # returns false and moves nothing
    lies = await payer.order(2_000_000, "USDC")
    await payer.pay(lies)
    await payer.settle()
    assert await payer.check(lies) == "mined"  # perhaps the money moved, so nobody gets it back by itself
    assert (await payer.network.payout_state(lies, clock.now())).outcome == "pending"
    assert "reports no transfer" in str((await payer.stored(lies)).reason)


async def test_killed_at_any_line_the_same_bytes_are_sent(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an exception at each line: what is committed stays, as after a kill."""

    class KilledError(BaseException):
        """The process ends here."""

    async def kill(*_: object) -> None:
        raise KilledError

    orders: list[PayoutOrder] = []
    for place, line in (
        (payer.payouts.signer, "find_signed"),
        (payer.payouts.signer, "sign"),
        (store, "reserve"),
        (store, "add_transaction"),
        (sending, "send"),
        (store, "record_sent"),
    ):
        order = await payer.order(1_000_000)
        orders.append(order)
        with monkeypatch.context() as patched:
            patched.setattr(place, line, kill)
            with pytest.raises(KilledError):
                await payer.pay(order)
        if line == "add_transaction":  # signed, and not stored
            assert len(payer.signer.journal.by_order[order.id]) == 1
            assert not await payer.hashes(order)
        before = [entry.tx_hash for entry in payer.signer.journal.by_order.get(order.id, [])]
        assert (await payer.pay(order)).outcome == "accepted"
        assert (await payer.hashes(order))[: len(before)] == before
    await payer.settle()
    assert [await payer.check(order) for order in orders] == ["completed"] * 6
    assert await payer.received_wei() == 6 * 1_000_000 * MINOR
    assert sorted([(await payer.stored(order)).nonce or 0 for order in orders]) == list(range(6))


def pay_and_die(dsn: str, network: tuple[str, str, str], socket: str, order: bytes, line: tuple[str, str]) -> None:
    """Be a worker that is killed at this line."""

    async def kill(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def pay() -> None:
        rail = make_network(*network)
        payouts = make_payouts(Pool(dsn, 1), catalogue_file.load(None), rail, Path(socket))
        setattr({"store": store, "sending": sending, "signer": payouts.signer}[line[0]], line[1], kill)
        await rail.payout(msgspec.json.decode(order, type=PayoutOrder))

    asyncio.run(pay())


@pytest.mark.long
@pytest.mark.covers("P-163")
async def test_a_killed_worker_sends_the_same_hash(payer: Payer, service: Service) -> None:
    """P-163: killed between sign and store, and between store and send."""
    orders: list[PayoutOrder] = []
    for line in (("store", "add_transaction"), ("sending", "send")):
        order = await payer.order(1_000_000)
        network = (payer.name, payer.chain.url, payer.token.address)
        words = (service.dsn, network, str(payer.signer.policy.socket), msgspec.json.encode(order), line)
        process = NURSERY.Process(target=pay_and_die, args=words)
        process.start()
        while process.is_alive():  # the signer of this test answers meanwhile
            await asyncio.sleep(0.01)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        [signed] = payer.signer.journal.by_order[order.id]
        await payer.pay(order)
        assert await payer.hashes(order) == [signed.tx_hash]
        orders.append(order)
    await payer.settle()
    assert [await payer.check(order) for order in orders] == ["completed"] * 2
    assert await payer.received_wei() == 2 * 1_000_000 * MINOR
    assert len(payer.signer.journal.entries) == 2


async def test_two_workers_at_once_send_each_order_once(payer: Payer) -> None:
    orders = [await payer.order(1_000_000) for _ in range(4)]
    for _ in range(20):
        await asyncio.gather(*(payer.pay(order) for order in orders * 2))
        if all([(await payer.stored(order)).status == "signed" for order in orders]):
            break
    await payer.settle()
    assert [await payer.check(order) for order in orders] == ["completed"] * 4
    assert await payer.received_wei() == 4 * 1_000_000 * MINOR
    assert len(payer.signer.journal.entries) == 4


async def test_orders_at_once_share_connections_and_are_paid_one_after_the_other(payer: Payer) -> None:
    """More than the signer has connections for. One that another worker signs stops the others before they ask the node."""
    async with counting(payer.chain.url) as (url, counts):
        payouts = ChainPayouts(payer.db, payer.payouts.catalogue, payer.network, url, payer.payouts.signer)
        payer.network.payouts = payouts
        orders = [await payer.order(1_000_000) for _ in range(CALLERS_MAX + 4)]
        assert {one.outcome for one in await asyncio.gather(*map(payer.pay, orders))} == {"accepted"}
        assert counts["connections"] <= CONNECTIONS_MAX
        assert counts["requests"] <= 5 * len(orders)
        last, held_up = await payer.order(1_000_000), await payer.order(1_000_000)
        await payer.db.execute(AS_IF_SIGNING, last.id, payer.name, 31337, payer.receiver, payer.signer.wallet.address)
        before = dict(counts)
        assert (await payer.pay(held_up)).outcome == "unknown"
        assert ((await payer.stored(held_up)).reason, counts) == ("another payout is being signed", before)
    assert len(payer.signer.journal.entries) == len(orders)
    await payer.settle()
    assert await payer.received_wei() == len(orders) * 1_000_000 * MINOR


@asynccontextmanager
async def counting(url: str) -> AsyncIterator[tuple[str, Counter[str]]]:
    """An address that leads to a node, and how many connections and requests it got."""
    target, counts = urlsplit(url), Counter[str]()

    async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            counts["requests"] += data.count(b"POST / HTTP/1.1")
            sink.write(data)
            await sink.drain()
        sink.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        counts["connections"] += 1
        node_reader, node_writer = await asyncio.open_connection(target.hostname, target.port)
        await asyncio.gather(forward(reader, node_writer), forward(node_reader, writer))

    async with await asyncio.start_server(accept, "127.0.0.1") as server:
        yield "http://{}:{}".format(*server.sockets[0].getsockname()), counts


async def test_a_stuck_payout_is_replaced_and_the_order_of_nonces_is_kept(payer: Payer) -> None:
    first, second = await payer.order(1_000_000), await payer.order(2_000_000)
    await payer.pay(first)
    await payer.pay(second)
    assert await payer.check(second, LATER) == "signed"
    assert await payer.check(first, LATER) == "signed"
    assert (len(await payer.hashes(first)), len(await payer.hashes(second))) == (2, 1)
    await payer.settle()
    assert [await payer.check(first), await payer.check(second)] == ["completed", "completed"]
    assert (await payer.stored(first)).tx_hash == (await payer.hashes(first))[1]
    assert await payer.received_wei() == 3_000_000 * MINOR


async def test_a_reorganized_payout_is_sent_again(payer: Payer) -> None:
    order = await payer.order(1_000_000)
    await payer.pay(order)
    await payer.chain.mine()
    assert await payer.check(order) == "mined"
    await payer.chain.reorganize(1)
    assert await payer.received_wei() == 0
    assert await payer.check(order) == "signed"
    await payer.settle()
    assert await payer.check(order) == "completed"
    assert await payer.received_wei() == 1_000_000 * MINOR
    assert len(await payer.hashes(order)) == 1


async def test_an_order_that_the_signer_refuses_leaves_no_gap(payer: Payer) -> None:
    """It waits, and is paid when the limits allow it. Its nonce is the next one's."""
    large, token = await payer.order(600_000_000), await payer.order(1_000_000, receiver=payer.token.address)
    assert (await payer.pay(large)).outcome == "unknown"
    assert (await payer.network.payout_state(large, clock.now())).outcome == "absent"
    stored = await payer.stored(large)
    assert (stored.status, stored.nonce) == ("waiting", None)
    assert stored.reason is not None
    assert "limited to 5" in stored.reason
    assert await payer.pay(token) in {
        Submission("rejected", failure_code="receiver_invalid"),
        Submission("rejected", failure_code="payout_declined"),
    }
    small = await payer.order(1_000_000)
    await payer.pay(small)
    assert (await payer.stored(small)).nonce == 0


async def test_a_node_that_does_not_answer_changes_nothing(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction arrives and its answer is lost; then the node forgets it."""
    order, send = await payer.order(1_000_000), sending.send

    async def lose(node: EvmNode, raw: str) -> None:
        await send(node, raw)
        raise NodeUnreachableError("no answer")

    monkeypatch.setattr(sending, "send", lose)
    assert (await payer.pay(order)).outcome == "accepted"
    monkeypatch.undo()
    await payer.chain.rpc("anvil_dropAllTransactions")
    assert await payer.check(order) == "signed"
    await payer.settle()
    assert await payer.check(order) == "completed"
    assert len(await payer.hashes(order)) == 1


async def test_a_database_that_was_restored_finds_what_was_signed(payer: Payer, service: Service) -> None:
    """The signer's journal is newer: the same bytes are sent, and the next order does not get their nonce."""
    order = await payer.order(1_000_000)
    await payer.pay(order)
    before = await payer.hashes(order)
    await forget(service.dsn, payer, order)
    assert (await payer.pay(order)).outcome == "accepted"
    assert await payer.hashes(order) == before
    await forget(service.dsn, payer, order)
    other = await payer.order(1_000_000)
    await payer.pay(other)
    assert (await payer.stored(other)).nonce == 1
    await payer.pay(order)
    await payer.settle()
    assert await payer.check(order) == await payer.check(other) == "completed"
    assert await payer.received_wei() == 2_000_000 * MINOR


async def forget(dsn: str, payer: Payer, order: PayoutOrder) -> None:
    """Be a database from before this payout."""
    connection = await asyncpg.connect(dsn)
    async with connection.transaction():
        await connection.execute("ALTER TABLE chain_payouts DISABLE TRIGGER never_deleted")
        await connection.execute("ALTER TABLE chain_transactions DISABLE TRIGGER never_deleted")
        await connection.execute("DELETE FROM chain_transactions WHERE payout_id = $1", order.id)
        await connection.execute("DELETE FROM chain_payouts WHERE id = $1", order.id)
        await connection.execute("UPDATE chain_wallets SET next_nonce = 0 WHERE rail = $1", payer.name)
        await connection.execute("ALTER TABLE chain_payouts ENABLE TRIGGER never_deleted")
        await connection.execute("ALTER TABLE chain_transactions ENABLE TRIGGER never_deleted")
    await connection.close()


async def test_the_database_keeps_what_was_signed(payer: Payer) -> None:
    order = await payer.order(1_000_000)
    await payer.pay(order)
    for statement in (
        "UPDATE chain_transactions SET tx_hash = '0x' || repeat('1', 64) WHERE payout_id = $1",
        "UPDATE chain_transactions SET raw = '0x11' WHERE payout_id = $1",
        "DELETE FROM chain_transactions WHERE payout_id = $1",
        "UPDATE chain_payouts SET receiver = '0x' || repeat('1', 40) WHERE id = $1",
        "UPDATE chain_payouts SET amount_units = 1 WHERE id = $1",
        "UPDATE chain_payouts SET nonce = 7 WHERE id = $1",
        "UPDATE chain_payouts SET status = 'waiting' WHERE id = $1",
        "DELETE FROM chain_payouts WHERE id = $1",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await payer.db.execute(statement, order.id)
    unreleased = await payer.order(1_000_000)
    other = msgspec.structs.replace(unreleased, receiver="0x" + "44" * 20)
    with pytest.raises(asyncpg.CheckViolationError, match="released transfer"):
        await payer.pay(other)
