"""The client of a node, against the node of the tests: its wallet, what it reports, and answers that are of no use."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from tests.rails.bitcoin.core import Core, serving
from tests.rails.bitcoin.wallet import ACCOUNT, THEIRS, coin, sign
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.node import BitcoinNode, satoshis
from tollhouse.rails.bitcoin.network.psbt import Payment, draft, read_signed
from tollhouse.rails.json_rpc import NodeCallError, NodeResponseError, NodeUnreachableError

DEPOSIT = keys.address(ACCOUNT, keys.DEPOSITS, 0)


@pytest.fixture
def core() -> Core:
    """A node."""
    return Core()


@pytest.fixture
async def node(core: Core) -> AsyncIterator[BitcoinNode]:
    """A client of it, whose wallet watches the first deposit addresses."""
    async with serving(core) as url, BitcoinNode(url, "tollhouse") as client:
        await client.open_wallet()
        await client.watch(keys.descriptor(ACCOUNT, keys.DEPOSITS), 9)
        yield client


async def test_the_wallet_is_created_once_and_watches_more_addresses(core: Core, node: BitcoinNode) -> None:
    """It is loaded again after a restart of the node. What is watched is not imported again."""
    descriptor = keys.descriptor(ACCOUNT, keys.DEPOSITS)
    await node.watch(descriptor, 5)
    core.loaded = False
    await node.open_wallet()
    await node.watch(descriptor, 20)
    assert list(core.watched.values()) == [20]
    assert (core.calls.count("importdescriptors"), core.calls.count("createwallet")) == (2, 1)
    state = await node.state()
    assert (state.chain, state.blocks, state.bestblockhash) == ("main", 0, core.blocks[-1].hash)


async def test_what_concerns_the_wallet_is_listed_with_its_place(core: Core, node: BitcoinNode) -> None:
    """In the mempool, in a block, in another block, and in none as another transaction took its coins."""
    first = core.pay((DEPOSIT, 123_456), (THEIRS, 5_000))
    second = core.pay((DEPOSIT, 1))
    assert await node.in_mempool([first, second, "00" * 32]) == {first, second}
    core.mine(2, first)
    listed = await node.since(None, 6)
    places = {
        transaction.txid: (transaction.confirmations, satoshis(transaction.amount), transaction.vout, transaction.address)
        for transaction in listed.transactions
    }
    assert places == {first: (2, 123_456, 0, DEPOSIT), second: (0, 1, 0, DEPOSIT)}
    core.reorganize(2)
    again = await node.since(listed.lastblock, 6)
    assert {transaction.txid: transaction.confirmations for transaction in again.transactions} == {first: 0, second: 0}
    third = core.pay((DEPOSIT, 2), replaces=second)
    core.mine(1, third)
    assert {transaction.txid: transaction.confirmations for transaction in (await node.since(None, 6)).transactions} == {
        first: 0,
        third: 1,
    }
    assert (await node.transaction(second)).confirmations == -1
    assert await node.in_mempool([first, second, third]) == {first}
    assert (await node.transaction(third)).hex == core.txs[third].serialize(include_witness=True).hex()
    assert await node.in_mempool([]) == set()


async def test_a_transaction_is_sent_as_often_as_wanted(core: Core, node: BitcoinNode) -> None:
    """Also when it is in the mempool or in a block."""
    found = draft(ACCOUNT, [coin(0, 50_000)], [Payment(THEIRS, 20_000)], 2_000, 0)
    signed = read_signed(found.psbt, sign(found.psbt).serialize())
    core.fails["sendrawtransaction"] = 1
    with pytest.raises(NodeUnreachableError):
        await node.broadcast(signed.raw)
    await node.broadcast(signed.raw)
    core.mine()
    await node.broadcast(signed.raw)
    assert core.place(found.txid)[0] == 1
    assert await node.fee_rate(6) == 5_000
    core.fee_rate = None
    assert await node.fee_rate(6) is None


async def test_what_is_of_no_use_is_an_error(core: Core, node: BitcoinNode) -> None:
    """A wrong password, a call that is refused, and amounts that are not in satoshis."""
    async with serving(core) as url, BitcoinNode(url.replace("node-password", "other"), "tollhouse") as stranger:
        with pytest.raises(NodeUnreachableError) as refused:
            await stranger.state()
    assert "other" not in str(refused.value)
    with pytest.raises(NodeCallError, match="non-wallet"):
        await node.transaction("00" * 32)
    core.loaded = False
    with pytest.raises(NodeCallError, match="not loaded"):
        await node.since(None, 6)
    assert satoshis(Decimal("20999999.97690000")) == 2_099_999_997_690_000
    with pytest.raises(NodeResponseError):
        satoshis(Decimal("0.000000001"))
