"""The wallet of a Bitcoin node beside the ledger: whatever is on its way is named, the rest is a difference."""

from typing import Any

import pytest

from tests.rails.bitcoin.paying import FINAL, BitcoinPayer
from tests.rails.bitcoin.receiving import BitcoinReceiver
from tests.rails.bitcoin.wallet import ACCOUNT, THEIRS
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.pages.console import actions
from tollhouse.rails.balances import measuring, store
from tollhouse.rails.balances.model import RailBalance, RailStatus
from tollhouse.rails.bitcoin.network import keys

HAS = 500_000
"""Satoshis of the payer's wallet."""

COINS = "SELECT txid, vout FROM bitcoin_outputs WHERE rail = $1 ORDER BY amount_minor"


async def status(rail: BitcoinReceiver) -> RailStatus:
    """What is measured now."""
    await measuring.measure(rail.services, rail.network, clock.now())
    [found] = [one for one in await store.list_latest(rail.services.db) if one.balance.rail == rail.name]
    return found


async def balance(rail: BitcoinReceiver) -> RailBalance:
    """The same, where everything is explained."""
    found = await status(rail)
    assert (found.failure, found.balance.difference_units, found.balance.tolerance_units) == (None, 0, 0), found
    return found.balance


async def in_flight(rail: BitcoinReceiver) -> dict[str, int]:
    """What is in flight, where everything is explained."""
    return dict((await balance(rail)).in_flight)


async def put(rail: BitcoinReceiver, amount_minor: int) -> None:
    """Book money of the operator."""
    actions.ensure_measured(rail.services, rail.name, "BTC")
    context = OperatorContext("olga@example.com", clock.now(), "Found in the wallet.", on_command_line=True)
    currency = rail.services.catalogue.currencies["BTC"]
    await rail.services.transact(
        lambda work: actions.change_rail_float(work, rail.name, currency, amount_minor, context), context.at, OPERATOR
    )


async def test_deposits_are_in_flight_from_their_block_until_they_are_credited(payer: BitcoinPayer) -> None:
    """Not in the mempool. One that the worker has not looked up is found, and a reorganisation takes it and returns it."""
    core = payer.core
    assert (await balance(payer)).places == {"deposit_addresses": HAS}
    _, to = await payer.bought("0.0007")
    core.pay((to, 70_000))
    assert await in_flight(payer) == {}
    core.mine()
    assert await in_flight(payer) == {"deposits_not_credited": 70_000}  # before the worker looks
    await payer.look()
    assert await in_flight(payer) == {"deposits_not_credited": 70_000}
    core.mine()
    await payer.look()
    assert ((await balance(payer)).ledger_units, await in_flight(payer)) == (HAS + 70_000, {})
    core.reorganize(2)
    assert await in_flight(payer) == {"deposits_lost": -70_000}  # in the mempool: it stays credited
    await payer.look()
    assert await in_flight(payer) == {"deposits_lost": -70_000}
    core.mine()
    assert await in_flight(payer) == {}
    kept = core.blocks[-1].txids[0]
    core.reorganize(1, keep=False)
    await payer.look()
    assert ((await balance(payer)).ledger_units, await in_flight(payer)) == (HAS, {})  # reversed
    core.take(core.txs[kept])
    core.mine()
    assert await in_flight(payer) == {"deposits_not_credited": 70_000}
    core.mine()
    await payer.look()
    assert ((await balance(payer)).ledger_units, await in_flight(payer)) == (HAS + 70_000, {})


async def test_a_payout_is_in_flight_from_its_block_until_it_is_posted(payer: BitcoinPayer) -> None:
    """Two in a batch, one posted before the other; then a reorganisation. The coins of a sent batch are still there."""
    core = payer.core
    first, second = await payer.withdraw("0.0004"), await payer.withdraw("0.0003")
    paid_minor = first.receive_minor + second.receive_minor
    batch_id = await payer.export()
    assert await in_flight(payer) == {}
    await payer.import_signed(batch_id)
    await payer.advance()
    [draft] = await payer.drafts(batch_id)
    assert draft.txid in core.mempool
    assert (await balance(payer)).places == {"deposit_addresses": HAS}
    core.mine()
    left = {"payouts": -paid_minor, "network_fees": -draft.fee_minor}
    found = await balance(payer)  # before the worker looks
    assert (found.in_flight, found.places["other_addresses"]) == (left, draft.change_minor)
    core.reorganize(1)
    assert await in_flight(payer) == {}
    core.mine(FINAL)
    await payer.advance()
    assert (await payer.batch(batch_id)).status == "confirmed"
    share = draft.fee_minor // 2
    assert await in_flight(payer) == {"payouts": -paid_minor, "network_fees": -2 * share}
    await payer.submit(first.id)
    assert await in_flight(payer) == {"payouts": -second.receive_minor, "network_fees": -share}
    await payer.submit(second.id)
    assert await in_flight(payer) == {}
    core.reorganize(FINAL)
    ahead = {"payouts": paid_minor, "network_fees": draft.fee_minor}
    assert await in_flight(payer) == ahead
    core.mine(100)
    await payer.look()
    await payer.advance()
    found = await balance(payer)
    assert (found.in_flight, found.ledger_units) == ({}, HAS - paid_minor - draft.fee_minor)


async def test_a_canceled_batch_in_a_block_is_in_flight_once(payer: BitcoinPayer) -> None:
    """Its payout is in another batch by now. It is completed by the one in the block, and only that one counts."""
    core = payer.core
    made = await payer.withdraw("0.0004")
    first_id = await payer.export()
    [first] = await payer.drafts(first_id)
    await payer.cancel(first_id)
    await payer.import_signed(await payer.export())
    await payer.advance()
    assert await in_flight(payer) == {}
    core.mine(1, payer.send_elsewhere(first.psbt))
    assert await in_flight(payer) == {"payouts": -made.receive_minor, "network_fees": -first.fee_minor}
    await payer.advance()
    core.mine(FINAL)
    await payer.advance()
    assert await payer.statuses([made.id]) == ["completed"]
    assert await in_flight(payer) == {"payouts": -made.receive_minor, "network_fees": -first.fee_minor}
    await payer.submit(made.id)
    assert ((await balance(payer)).ledger_units, await in_flight(payer)) == (HAS - made.receive_minor - first.fee_minor, {})


async def test_what_somebody_moved_by_hand_is_a_difference_until_it_is_booked(payer: BitcoinPayer) -> None:
    """Coins at an address that was given to nobody; deposits that somebody else spent. Young mined coins are none yet."""
    core = payer.core
    core.pay((keys.address(ACCOUNT, keys.CHANGE, 3), 9_000))
    core.mine(1, coinbase=keys.address(ACCOUNT, keys.CHANGE, 4))
    found = (await status(payer)).balance
    assert (found.places["other_addresses"], found.in_flight, found.difference_units) == (9_000, {}, 9_000)
    await put(payer, 9_000)
    assert await in_flight(payer) == {}
    [row, *_] = await payer.services.db.fetch(COINS, payer.name)
    core.pay((THEIRS, 99_000), spends=[(row["txid"], row["vout"])])
    core.mine()
    assert ((await status(payer)).balance.difference_units, (await status(payer)).balance.differs) == (-100_000, True)
    await put(payer, -100_000)
    assert await in_flight(payer) == {}


async def test_a_rail_is_measured_at_one_block(payer: BitcoinPayer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that arrives meanwhile has all read again. One after another, or a wallet that lacks coins, is a failure."""
    core, state = payer.core, payer.core.answer
    _, to = await payer.bought("0.0007")
    core.pay((to, 70_000))
    left = 1

    def answer(method: str, params: list[Any]) -> Any:
        nonlocal left
        result = state(method, params)
        if method == "listunspent" and left > 0:
            left -= 1
            core.mine()
        return result

    monkeypatch.setattr(core, "answer", answer)
    found = await balance(payer)
    assert (found.in_flight, found.as_of) == ({"deposits_not_credited": 70_000}, f"block {len(core.blocks) - 1}")
    left = 99
    assert (await status(payer)).failure == "blocks arrived while the wallet was read"
    left, core.scans = 0, True
    assert (await status(payer)).failure == "the wallet of the node reads old blocks"
    core.scans = False
    watched, core.watched = core.watched, {}
    assert "does not watch all addresses" in ((await status(payer)).failure or "")
    core.watched = watched
    assert (await status(payer)).failure is None
