"""Deposits of Bitcoin through the worker and the database: what happens to payments, and when nothing is offered.

`TOLLHOUSE_BITCOIN_BLOCKS` sets the length of the random chain.
"""

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import msgspec
import pytest

from tests.extent import EXTENT
from tests.payments.bank import purse
from tests.rails.bitcoin.core import Core
from tests.rails.bitcoin.receiving import PRICE, BitcoinReceiver
from tests.rails.bitcoin.wallet import ACCOUNT, THEIRS
from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import Finality
from tollhouse.kernel import clock
from tollhouse.payments.refunds import reversals
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.chains import store
from tollhouse.rails.chains.model import LEASE

BLOCKS = int(os.environ.get("TOLLHOUSE_BITCOIN_BLOCKS", EXTENT.of(200, short=60)))
DEPTH, RECENT = 4, 20
HELD = """
    SELECT coalesce(sum(CASE d.code WHEN $1 THEN p.amount ELSE -p.amount END), 0)::bigint AS held
    FROM ledger_postings p
    JOIN ledger_accounts c ON c.id = p.credit_account_id JOIN ledger_accounts d ON d.id = p.debit_account_id
    WHERE $1 IN (c.code, d.code)
"""
CREDITED = "SELECT txid, vout, amount_minor FROM bitcoin_outputs WHERE rail = $1 AND status = 'confirmed'"
EXPIRE = "UPDATE payment_links SET created_at = $2::timestamptz - interval '1 day', expires_at = $2 WHERE id = $1"
"""Before the first block of the tests."""

OUTPUTS = "SELECT status, amount_minor FROM bitcoin_outputs WHERE rail = $1 ORDER BY status, amount_minor"


async def outputs(receiver: BitcoinReceiver) -> list[tuple[str, int]]:
    """Status and amount of the outputs of the rail."""
    rows = await receiver.services.db.fetch(OUTPUTS, receiver.name)
    return [(row["status"], row["amount_minor"]) for row in rows]


async def wish(receiver: BitcoinReceiver, count: Finality) -> None:
    """The merchant waits for so many confirmations."""
    db = receiver.services.db
    before = await payment_settings.of(db, receiver.env)
    wished = msgspec.structs.replace(before, confirmations={receiver.name: count})
    await db.transact(lambda tx: payment_settings.save(tx, receiver.env, wished, clock.now()))


async def test_a_payment_is_seen_confirmed_and_credited_once(receiver: BitcoinReceiver) -> None:
    """One transaction pays two addresses, and change to neither; part and rest; the same address again; dust of nothing."""
    core = receiver.core
    one, first = await receiver.bought()
    two, second = await receiver.bought()
    assert one.instructions.uri == f"bitcoin:{first}?amount=0.00150000"
    core.pay((first, PRICE), (THEIRS, 9), (second, 100_000), (keys.address(ACCOUNT, keys.CHANGE, 0), 5))
    await receiver.look()
    assert await receiver.shown(one) == ("processing", 0, 0)
    core.mine()
    await receiver.look()
    found = await receiver.payment(one.id)
    assert (found.status, found.confirmations, found.required_confirmations) == ("processing", 1, 2)
    core.mine()
    for _ in range(2):
        await receiver.look()
    assert [(await receiver.shown(made))[:2] for made in (one, two)] == [("succeeded", PRICE), ("pending", 100_000)]
    core.pay((second, 50_000))
    core.pay((first, 7_000), (first, 0))
    core.mine(2)
    await receiver.look()
    assert (await receiver.shown(two))[:2] == ("succeeded", PRICE)
    assert (await receiver.shown(one))[:2] == ("succeeded", PRICE)
    unmatched = await receiver.services.db.fetch(
        "SELECT refund_required_reason AS reason, received_minor FROM transactions WHERE payment_link_id = $1 AND id <> $2",
        one.payment_link_id,
        one.id,
    )
    assert [(row["reason"], row["received_minor"]) for row in unmatched] == [("duplicate", 7_000)]
    assert await outputs(receiver) == [("confirmed", minor) for minor in (7_000, 50_000, 100_000, PRICE)]
    available, _, _ = await purse(receiver.actor, "BTC", mode="live")
    assert available == 2 * PRICE


async def test_a_replaced_or_double_spent_transaction_is_never_credited(receiver: BitcoinReceiver) -> None:
    """The payment stays on its way while another transaction pays it; then it is pending, and can be paid again."""
    core = receiver.core
    made, to = await receiver.bought()
    first = core.pay((to, PRICE))
    await receiver.look()
    second = core.pay((to, PRICE - 1), replaces=first)
    await receiver.look()
    assert await receiver.shown(made) == ("processing", 0, 0)
    core.mine()
    await receiver.look()
    core.reorganize(1)
    core.pay((THEIRS, PRICE - 2), replaces=second)
    core.mine(3)
    await receiver.look()
    assert await receiver.shown(made) == ("pending", 0, None)
    core.pay((to, PRICE))
    core.mine(2)
    await receiver.look()
    assert (await receiver.shown(made))[:2] == ("succeeded", PRICE)
    assert await outputs(receiver) == [("confirmed", PRICE), ("vanished", PRICE - 1), ("vanished", PRICE)]


async def test_a_block_that_arrives_during_a_look_does_not_make_a_payment_vanish(
    receiver: BitcoinReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was listed as unconfirmed, and is not in the mempool any more when that is asked for."""
    made, to = await receiver.bought()
    receiver.core.pay((to, PRICE))
    await receiver.look()
    usual = receiver.core.answer

    def answer(method: str, params: list[Any]) -> Any:
        if method == "getmempoolentry" and receiver.core.mempool:
            receiver.core.mine()
        return usual(method, params)

    monkeypatch.setattr(receiver.core, "answer", answer)
    await receiver.look()
    assert await receiver.shown(made) == ("processing", 0, 1)
    steps = await receiver.services.db.fetch("SELECT detail FROM transaction_steps WHERE transaction_id = $1", made.id)
    assert "vanished" not in [row["detail"] for row in steps]


async def test_a_credited_payment_whose_blocks_were_replaced_is_charged_back_and_reinstated(
    receiver: BitcoinReceiver,
) -> None:
    """Not while it waits in the mempool for another block. What cannot be reinstated now is later."""
    core = receiver.core
    made, to = await receiver.bought()
    txid = core.pay((to, PRICE))
    core.mine(2)
    await receiver.look()
    core.reorganize(2)
    await receiver.look()
    assert (await receiver.shown(made))[:2] == ("succeeded", PRICE)
    core.evict(txid)
    for _ in range(2):
        await receiver.look()
    assert (await receiver.shown(made))[0] == "chargeback"
    assert await purse(receiver.actor, "BTC", mode="live") == (0, 0, 0)
    core.take(core.txs[txid])
    core.mine(2)
    await receiver.look()
    assert (await receiver.shown(made))[:2] == ("succeeded", PRICE)
    assert await purse(receiver.actor, "BTC", mode="live") == (PRICE, 0, 0)
    core.reorganize(2, keep=False)
    await receiver.look()
    assert (await receiver.shown(made))[0] == "chargeback"
    assert await outputs(receiver) == [("reversed", PRICE)]


async def test_late_money_and_mined_coins(receiver: BitcoinReceiver) -> None:
    """An address is never forgotten. Mined coins count when they can be spent, in the block after the hundredth."""
    core = receiver.core
    late, old = await receiver.bought()
    mined, own = await receiver.bought("3.125")
    await receiver.services.db.execute(EXPIRE, late.payment_link_id, datetime(2025, 1, 1, tzinfo=UTC))
    core.mine(1, coinbase=own)
    core.pay((old, PRICE))
    core.mine(99)
    await receiver.look()
    assert (await receiver.shown(mined))[:2] == ("pending", 0)
    found = await receiver.payment(late.id)
    assert (found.status, found.refund_required_reason) == ("refund_required", "late")
    core.mine()
    await receiver.look()
    assert (await receiver.shown(mined))[:2] == ("succeeded", 312_500_000)
    core.pay((old, 5))
    core.mine(2)
    await receiver.look()
    core.mine(150)
    await receiver.look()  # what is older than the blocks that are listed again is asked for
    sql = "SELECT confirmations FROM bitcoin_outputs WHERE rail = $1 AND amount_minor = 5"
    assert [row["confirmations"] for row in await receiver.services.db.fetch(sql, receiver.name)] == [152]


async def test_dust_in_the_mempool_keeps_no_link_payable(receiver: BitcoinReceiver) -> None:
    """Each output counts as of the moment when it was seen itself, also one that replaces the dust."""
    (made, to), (other, other_to) = await receiver.bought(), await receiver.bought()
    first = receiver.core.pay((to, 294), (other_to, 294))
    await receiver.look()
    assert [(await receiver.shown(payment))[0] for payment in (made, other)] == ["processing", "processing"]
    for payment in (made, other):
        await receiver.services.db.execute(
            "UPDATE payment_links SET expires_at = $2 WHERE id = $1",
            payment.payment_link_id,
            clock.now() + timedelta(hours=3),
        )
    week = timedelta(days=7)
    receiver.core.pay((to, PRICE))
    receiver.core.pay((other_to, PRICE), replaces=first)
    await receiver.look(week)
    receiver.core.mine(2)
    await receiver.look(week)
    for payment in (made, other):
        found = await receiver.payment(payment.id)
        assert (found.status, found.refund_required_reason, found.received_minor) == ("refund_required", "late", PRICE)
    assert await purse(receiver.actor, "BTC", mode="live") == (0, 0, 0)


@pytest.mark.parametrize("was_down", [True, False])
async def test_a_block_proves_what_was_paid_while_nobody_looked(receiver: BitcoinReceiver, *, was_down: bool) -> None:
    """The node was down: the block says when it was paid. It was not: what was not there at the last look came later."""
    made, to = await receiver.bought()
    now = clock.now()
    link_ends = now + timedelta(hours=1)
    await receiver.services.db.execute(
        "UPDATE payment_links SET expires_at = $2 WHERE id = $1", made.payment_link_id, link_ends
    )
    if was_down:
        receiver.core.fails["listsinceblock"] = 1
    await receiver.look(timedelta(hours=1, minutes=5))
    receiver.core.pay((to, PRICE))
    receiver.core.mine(2)
    for block in receiver.core.blocks[-2:]:
        block.time = int((now + timedelta(minutes=50)).timestamp())
    await receiver.look(timedelta(hours=1, minutes=30))
    found = await receiver.payment(made.id)
    expected = ("succeeded", None) if was_down else ("refund_required", "late")
    assert (found.status, found.refund_required_reason) == expected


@pytest.mark.parametrize("receiver", [{"confirmations": 1}], indirect=True)
async def test_a_merchant_can_wait_for_more_confirmations(receiver: BitcoinReceiver) -> None:
    """Fewer than those of the rail have no effect; `finalized` is six."""
    wishes: list[tuple[Finality, int]] = [(3, 3), ("finalized", 6)]
    for count, needed in wishes:
        await wish(receiver, count)
        made, to = await receiver.bought()
        receiver.core.pay((to, PRICE))
        receiver.core.mine(needed - 1)
        await receiver.look()
        found = await receiver.payment(made.id)
        assert (found.status, found.confirmations, found.required_confirmations) == ("processing", needed - 1, needed)
        receiver.core.mine()
        await receiver.look()
        assert (await receiver.shown(made))[0] == "succeeded"


async def test_a_worker_that_ends_in_the_middle_or_is_replaced_reports_nothing_twice(
    receiver: BitcoinReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second output is reported at the next look. Without the lease nothing is stored."""
    made = [await receiver.bought() for _ in range(3)]
    receiver.core.pay(*((to, PRICE) for _, to in made))
    receiver.core.mine(2)
    usual, reported = reversals.apply, list[object]()

    async def ends(*args: Any) -> Any:
        reported.append(args[2])
        if len(reported) == 2:
            raise ConnectionResetError
        return await usual(*args)

    with monkeypatch.context() as patch:
        patch.setattr(reversals, "apply", ends)
        with pytest.raises(ConnectionResetError):
            await receiver.look()
    assert sorted([(await receiver.shown(one))[0] for one, _ in made]) == ["pending", "pending", "succeeded"]
    db, name = receiver.services.db, receiver.name
    other = uuid4()
    assert (await store.lease(db, name, "live", other, clock.now() + 2 * LEASE, LEASE))[0]
    await receiver.look()
    assert len(await outputs(receiver)) == 1
    await db.execute("UPDATE rail_cursors SET leased_until = now() - interval '1 d' WHERE leased_by = $1", other)
    await receiver.look()
    assert [(await receiver.shown(one))[0] for one, _ in made] == ["succeeded"] * 3


async def test_the_database_keeps_what_an_output_is(receiver: BitcoinReceiver) -> None:
    """Amount, address and outpoint do not change, versions follow each other, statuses as documented; nothing is deleted."""
    _, to = await receiver.bought()
    receiver.core.pay((to, PRICE))
    await receiver.look()
    for change in (
        "UPDATE bitcoin_outputs SET amount_minor = 1, version = 2 WHERE rail = $1",
        "UPDATE bitcoin_outputs SET address = 'x', version = 2 WHERE rail = $1",
        "UPDATE bitcoin_outputs SET vout = 7, version = 2 WHERE rail = $1",
        "UPDATE bitcoin_outputs SET confirmations = 1 WHERE rail = $1",
        "UPDATE bitcoin_outputs SET status = 'reversed', version = 2 WHERE rail = $1",
        "UPDATE bitcoin_outputs SET status = 'lost', version = 2 WHERE rail = $1",
        "DELETE FROM bitcoin_outputs WHERE rail = $1",
    ):
        with pytest.raises(asyncpg.PostgresError):
            await receiver.services.db.execute(change, receiver.name)
    assert await outputs(receiver) == [("seen", PRICE)]


@pytest.mark.long
async def test_on_a_random_chain_each_payment_has_what_is_in_final_blocks(receiver: BitcoinReceiver) -> None:
    """Payments, replacements, lost transactions, reorganisations, lost answers, and looks that are missed or repeated."""
    chance = random.Random(19)  # noqa: S311 - a history that can be repeated
    core = receiver.core
    made = [await receiver.bought() for _ in range(6)]
    while len(core.blocks) < BLOCKS:
        await happens(chance, core, [to for _, to in made])
        if chance.random() < 0.05:
            core.fails[chance.choice(("listsinceblock", "gettransaction", "getmempoolentry"))] = 1
        for _ in range(chance.choice((0, 0, 1, 2))):
            await receiver.look()
    core.fails.clear()
    core.mine(DEPTH)
    await receiver.look()
    ours = {to for _, to in made}
    final = {
        (txid, vout, minor)
        for txid, outs in core.own.items()
        for vout, to, minor in outs
        if core.place(txid)[0] >= receiver.network.settings.confirmations and to in ours
    }
    db, name = receiver.services.db, receiver.name
    assert {(*row,) for row in await db.fetch(CREDITED, name)} == final
    [held] = await db.fetch(HELD, f"rail:{name}")
    assert held["held"] == sum(minor for _, _, minor in final)


async def happens(chance: random.Random, core: Core, ours: list[str]) -> None:
    """Something happens on the chain."""
    match chance.choices(("pay", "replace", "evict", "return", "spend", "mine", "reorganize"), (4, 2, 1, 1, 1, 6, 1))[0]:
        case "pay":
            core.pay(*((chance.choice(ours), chance.randint(1, PRICE)) for _ in range(chance.randint(1, 3))))
        case "replace" if core.mempool:
            core.pay((chance.choice([*ours, THEIRS]), chance.randint(1, PRICE)), replaces=chance.choice(core.mempool))
        case "evict" if core.mempool:
            core.evict(chance.choice(core.mempool))
        case "return":
            lost = [txid for txid in [*core.txs][-RECENT:] if core.place(txid)[0] == 0]
            if lost:
                core.take(core.txs[chance.choice(lost)])
        case "spend":  # whoever sent what was lost long ago spends the coins elsewhere
            lost = [txid for txid in [*core.txs][-2 * RECENT : -RECENT] if core.place(txid)[0] == 0]
            for txid in lost:
                core.pay((THEIRS, 1), replaces=txid)
        case "reorganize" if len(core.blocks) > DEPTH + 1:
            core.reorganize(chance.randint(1, DEPTH), keep=chance.random() < 0.8)
        case _:
            core.mine(1, *chance.sample(core.mempool, chance.randint(0, len(core.mempool))))
