"""When the rail of Bitcoin offers no address: the node, its wallet and the key."""

from typing import Any

import msgspec
import pytest
from btclib_wallet.bip32 import derive, xpub_from_xprv

from tests.rails.bitcoin.core import RefusedCallError, normal
from tests.rails.bitcoin.receiving import PRICE, BitcoinReceiver
from tests.rails.bitcoin.wallet import ACCOUNT, ROOT, THEIRS
from tollhouse.pages.console.rail_pages import REASONS
from tollhouse.payments.links.model import MethodUnavailable
from tollhouse.rails.bitcoin.network import keys

OTHER_ZPUB = xpub_from_xprv(derive(ROOT, "m/84h/0h/1h"))


async def reason(receiver: BitcoinReceiver, **settings: Any) -> str | None:
    """Why it is unavailable with these settings, after a look."""
    usual = receiver.network.settings
    receiver.network.settings = msgspec.structs.replace(usual, **settings)
    await receiver.look()
    is_down = await receiver.error("BTC") == "provider_down"
    receiver.network.settings = usual
    found = (await receiver.measured())[0]
    assert found is None or found in REASONS or found.startswith("no response")
    assert is_down == (found is not None)
    return found


async def test_without_the_right_node_and_key_nothing_is_offered(receiver: BitcoinReceiver) -> None:
    """No node, another network, another key, none, an old chain."""
    assert await reason(receiver) is None
    facts = (await receiver.measured())[1]
    assert (facts["tip"], facts["headers"], facts["free_addresses"]) == (0, 0, 8)
    assert await reason(receiver, node_url="http://127.0.0.1:9") == "no response: ClientConnectorError"
    with pytest.raises(MethodUnavailable):
        await receiver.bought()
    assert await reason(receiver, network="test") == "the extended public key cannot be used"
    assert await reason(receiver, node_url=None) == "node_url and xpub are needed by the worker"
    assert await reason(receiver, xpub=None) == "node_url and xpub are needed by the worker"
    assert await reason(receiver, tip_age_max_s=1) in {None, "the newest block is too old"}  # the day of the test decides
    assert await reason(receiver, xpub=OTHER_ZPUB) == "a deposit address was changed"
    assert await reason(receiver) is None


async def test_while_the_wallet_might_miss_money_nothing_is_offered(
    receiver: BitcoinReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is not up to date, or the wallet lacks addresses or reads old blocks. What arrived meanwhile is found."""
    core = receiver.core
    made, to = await receiver.bought()
    for name, value, expected in (
        ("initialblockdownload", True, "the node has not downloaded the chain"),
        ("chain", "regtest", "the node is part of another network"),
        ("headers", 10, "the node is behind the chain"),
    ):
        state = core.answer("getblockchaininfo", []) | {name: value}
        with monkeypatch.context() as patch:
            patch.setattr(core, "_getblockchaininfo", lambda state=state: state)
            assert await reason(receiver) == expected
    assert await reason(receiver, fingerprint=None) is None
    core.scans = True
    assert await reason(receiver) == "the wallet of the node reads old blocks"
    core.scans = False
    core.exists = core.loaded = False
    watched, core.watched = core.watched, {}
    assert await reason(receiver) == "the wallet of the node does not watch all addresses that were given out"
    assert core.exists
    core.watched = watched
    core.pay((to, PRICE))
    core.mine(2)
    core.loaded = False
    assert await reason(receiver) is None
    assert (await receiver.shown(made))[:2] == ("succeeded", PRICE)


async def test_a_new_wallet_that_does_not_know_a_transaction(
    receiver: BitcoinReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was on its way has vanished. What was credited stays so, and the rail is down until the wallet is complete."""
    core = receiver.core
    (on_its_way, first), (credited, second) = await receiver.bought(), await receiver.bought()
    lost = core.pay((first, PRICE))
    await receiver.look()

    def unknown(*_: object) -> None:
        raise RefusedCallError(-5, "Invalid or non-wallet transaction id")

    core.pay((THEIRS, PRICE), replaces=lost)
    paid = core.pay((second, PRICE))
    core.mine(2)
    with monkeypatch.context() as patch:
        patch.setattr(core, "_gettransaction", unknown)
        assert await reason(receiver) is None
        assert (await receiver.shown(on_its_way))[:2] == ("pending", 0)
        assert (await receiver.shown(credited))[:2] == ("succeeded", PRICE)
        core.reorganize(2, keep=False)
        core.pay((THEIRS, PRICE), replaces=paid)
        core.mine()
        assert await reason(receiver) == "the wallet of the node lacks a transaction that was credited"
        assert (await receiver.shown(credited))[0] == "succeeded"
    assert await reason(receiver) is None
    assert (await receiver.shown(credited))[0] == "chargeback"


async def test_the_wallet_watches_addresses_before_they_are_offered(receiver: BitcoinReceiver) -> None:
    """Each payment has its own; a block that the node does not know means that all is listed."""
    descriptor, change = (f"{normal(keys.descriptor(ACCOUNT, one))}#checksum" for one in (keys.DEPOSITS, keys.CHANGE))
    assert receiver.core.watched == {descriptor: 58, change: 20 + 50}
    receiver.core.watched = {descriptor.replace("'", "h"): 8}
    bought = [await receiver.bought() for _ in range(8)]
    assert len({to for _, to in bought}) == 8
    with pytest.raises(MethodUnavailable):
        await receiver.bought()
    await receiver.look()
    assert receiver.core.watched[descriptor] == 8 + 8 + 50
    receiver.core.pay((bought[-1][1], PRICE))
    receiver.core.mine(2)
    await receiver.services.db.execute(
        "UPDATE rail_cursors SET cursor = jsonb_set(cursor, '{block,hash}', to_jsonb(repeat('ab', 32))) WHERE rail = $1",
        receiver.name,
    )
    await receiver.look()
    assert (await receiver.shown(bought[-1][0]))[:2] == ("succeeded", PRICE)
