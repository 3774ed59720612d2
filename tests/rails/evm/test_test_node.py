"""The node of the tests does what the tests of rails rely on, and its contracts are compiled from their source."""

import json
import subprocess
from collections.abc import Callable
from typing import NoReturn

import pytest

from tests.rails.evm import anvil
from tests.rails.evm.anvil import FINAL_DEPTH, Anvil
from tollhouse.rails.evm.network.node import number_of


@pytest.mark.long
def test_contracts_are_compiled_from_their_source(skip_aloud: Callable[[str], NoReturn]) -> None:
    anvil.require_node(skip_aloud)
    compiled = subprocess.run(
        ("node", "compile.mjs"), cwd=anvil.HERE, capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(compiled.stdout) == anvil.CONTRACTS, "run: node compile.mjs > contracts.json in tests/rails/evm"


async def test_token_misbehaves_on_demand(chain: Anvil) -> None:
    token = await chain.deploy("Token", "USD Coin", "USDC", 6)
    payer, shop = chain.accounts[:2]
    await chain.transact(token, "mint", payer, 1000)
    assert (await chain.transact(token, "transfer", shop, 100)).succeeded
    await chain.transact(token, "setFee", 1000)
    await chain.transact(token, "transfer", shop, 100)
    assert await chain.read(token, "balanceOf", shop) == 190
    await chain.transact(token, "setBlocked", shop, True)
    assert not (await chain.transact(token, "transfer", shop, 100)).succeeded
    await chain.transact(token, "setBlocked", shop, False)
    await chain.transact(token, "setTransfers", 1)
    assert (await chain.transact(token, "transfer", shop, 100)).succeeded
    assert await chain.read(token, "balanceOf", shop) == 190
    assert await chain.read(token, "decimals") == 6


async def test_blocks_are_mined_become_final_and_are_replaced(chain: Anvil) -> None:
    payer, shop = chain.accounts[:2]
    sender = await chain.deploy("Sender")
    before_wei = await chain.balance_wei(shop)
    await chain.sent(shop, 5)
    await chain.sent(sender.address, 7, sender.data("send", shop))
    assert await chain.balance_wei(shop) == before_wei + 12
    head = await chain.head()
    await chain.reorganize(2)
    assert await chain.head() == head
    assert await chain.balance_wei(shop) == before_wei
    await chain.finalize()
    final = await chain.rpc("eth_getBlockByNumber", "finalized", False)
    assert number_of(final["number"]) == await chain.head() - FINAL_DEPTH == head
    assert payer != shop
