"""A node that is behind, or on a branch that was left, answers some of the requests: nothing is credited by its word."""

from collections.abc import AsyncIterator
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.rails.evm.fake_chain import FakeChain, Move
from tests.rails.evm.fake_node import FakeNode, answering
from tests.rails.evm.receiving import ETHER, DepositRail, address
from tollhouse.http.services import Services
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.node import EvmNode
from tollhouse.rails.json_rpc import NodeResponseError

TOKEN = f"0x{'d' * 40}"
START = 20


class TwoNodes(DepositRail):
    """A rail whose node has another one beside it, which is behind."""

    def __init__(self, actor: Actor, services: Services, node: FakeNode) -> None:
        super().__init__(actor, services, node.url, TOKEN)
        self.node, self.chain = node, node.chain

    def finalize(self) -> None:
        """What is on the chain now is final."""
        self.chain.finalized = self.chain.head.number


@pytest.fixture
async def rail(alice: Actor, services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TwoNodes]:
    """Its worker has looked once."""
    chain = FakeChain(Random(1))  # noqa: S311 - the same each time
    chain.mine(START)
    with answering(FakeNode(chain, f"fake://{uuid4()}"), monkeypatch) as node:
        made = TwoNodes(alice, services, node)
        made.finalize()
        await made.look()
        node.lag()
        yield made


def is_batch(request: Any) -> bool:
    """Whether the request has several calls."""
    return isinstance(request, list)


async def test_blocks_are_final_only_where_the_node_that_has_them_says_so(rail: TwoNodes) -> None:
    """The height that one node calls final says nothing about the blocks of another one."""
    paid = await rail.offer()
    rail.chain.pay(Move(None, address(paid).lower(), 3 * ETHER // 2))
    rail.chain.mine(3)
    rail.node.lag()
    rail.chain.reorganize(3)
    rail.finalize()
    rail.node.is_behind = is_batch
    await rail.look()
    assert await rail.status(paid) == ("pending", 0)
    rail.node.is_behind = lambda _: False
    await rail.look()
    assert (await rail.status(paid), await rail.rows(paid)) == (("pending", 0), [])


async def test_a_node_that_does_not_know_the_block_has_not_forgotten_its_balances(rail: TwoNodes) -> None:
    """What arrived is not guessed from what the event says: the token keeps a half."""
    paid = await rail.offer("USDC", "20")
    rail.chain.token_fee_percent = 50
    rail.chain.pay(Move(TOKEN, address(paid).lower(), 20_000_000))
    rail.chain.mine()
    rail.finalize()
    rail.node.is_behind = lambda request: "eth_call" in str(request)
    await rail.look()
    assert [status for status, _ in await rail.rows(paid)] in ([], ["seen"])
    rail.node.is_behind = lambda _: False
    await rail.look()
    assert await rail.rows(paid) == [("confirmed", 10_000_000)]


async def test_a_payout_is_final_only_where_the_node_that_has_its_block_says_so(rail: TwoNodes) -> None:
    """Its receipt can come from a branch that was left."""
    sent = rail.chain.pay(Move(None, f"0x{'9' * 40}", ETHER))
    rail.chain.mine(3)
    rail.node.lag()
    async with EvmNode(rail.node.url) as node:
        [receipt] = await sending.find_receipts(node, [sent.hash])
        rail.chain.reorganize(3)
        rail.finalize()
        assert await sending.final_above(node, receipt, "finalized") is None
        rail.node.is_behind = is_batch
        assert await sending.final_above(node, receipt, "finalized") == START
        assert await sending.final_above(node, receipt, 3) == START + 1


async def test_an_answer_to_another_client_is_refused(rail: TwoNodes) -> None:
    """As a cache between can give it: each client has ids of its own."""
    async with EvmNode(rail.node.url) as node, EvmNode(rail.node.url) as other:
        await node.quantity("eth_chainId")
        rail.node.trouble.repeated = 1
        with pytest.raises(NodeResponseError, match="another request"):
            await other.quantity("eth_blockNumber")
