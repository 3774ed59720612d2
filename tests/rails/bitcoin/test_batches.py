"""What becomes of batches in bitcoin: replaced, canceled, spent otherwise, sent by others. Nothing is paid twice."""

from uuid import uuid4

import asyncpg
import msgspec
import pytest
from btclib_wallet.psbt import Psbt

from tests.invariants import broken_invariants
from tests.rails.bitcoin.paying import FINAL, BitcoinPayer
from tests.rails.bitcoin.wallet import THEIRS
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import PayoutOrder
from tollhouse.rails.balances.invariants_store import I32_BITCOIN
from tollhouse.rails.bank import pauses
from tollhouse.rails.bitcoin import jobs
from tollhouse.rails.bitcoin import operator_payouts as bitcoin_payouts

COINS = "SELECT txid, vout FROM bitcoin_batch_coins WHERE batch_id = $1 ORDER BY number"

COIN_AGAIN = """
    INSERT INTO bitcoin_batch_coins
    SELECT batch_id, 9, rail, mode, txid, vout, amount_minor, chain, derivation_index FROM bitcoin_batch_coins
    WHERE batch_id = $1
"""
DEPOSIT = """
    INSERT INTO bitcoin_outputs (rail, mode, txid, vout, address, amount_minor, status, confirmations, version, created_at,
                                 updated_at)
    VALUES ($1, 'live', repeat('ab', 32), 0, 'nobody', 7, 'confirmed', 2, 1, now(), now())
"""


def spent(psbt: str) -> set[tuple[str, int]]:
    """The coins of a draft."""
    return {(one.prev_out.tx_id.hex(), one.prev_out.vout) for one in Psbt.b64decode(psbt).tx.vin}


async def test_a_replacement_spends_the_same_coins_and_either_counts(payer: BitcoinPayer) -> None:
    """The first is sent until the replacement is imported; whichever is in a block completes the payouts."""
    made = await payer.withdraw("0.0004")
    batch_id = await payer.export()
    await payer.import_signed(batch_id)
    await payer.advance()
    await payer.replace(batch_id)
    first, second = await payer.drafts(batch_id)
    assert spent(first.psbt) == spent(second.psbt)
    assert second.fee_minor > first.fee_minor
    assert first.txid in payer.core.mempool
    await payer.replace(batch_id, second.rate)
    assert "at least 1 satoshi" in ((await payer.batch(batch_id)).reason or "")
    await payer.replace(batch_id, 10**6)
    assert "more than the maximum" in ((await payer.batch(batch_id)).reason or "")
    await payer.replace(batch_id, 30_000)
    *_, third = await payer.drafts(batch_id)
    assert (third.number, third.rate) == (3, 30_000)
    await payer.import_signed(batch_id)
    await payer.advance()
    assert payer.core.mempool == [third.txid]
    payer.core.evict(third.txid)
    payer.core.take(payer.core.txs[first.txid])  # a miner had kept the first
    payer.core.mine(FINAL)
    await payer.advance()
    assert ((await payer.batch(batch_id)).txid, await payer.statuses([made.id])) == (first.txid, ["completed"])
    with pytest.raises(OperatorRefusedError, match="is confirmed"):
        await payer.replace(batch_id)


async def test_a_canceled_draft_can_never_be_paid_beside_its_successor(payer: BitcoinPayer) -> None:
    """The successor spends a coin of it, so one of both is in a block. Until then nothing of it is refused."""
    made = await payer.withdraw("0.0004")
    first_id = await payer.export()
    [first] = await payer.drafts(first_id)
    await payer.cancel(first_id)
    with pytest.raises(OperatorRefusedError, match="may have been signed"):
        await payer.refuse(made.id)
    second_id = await payer.export()
    [second] = await payer.drafts(second_id)
    assert spent(first.psbt) & spent(second.psbt)
    assert first.txid != second.txid
    payer.send_elsewhere(first.psbt)
    payer.core.mine()
    await payer.import_signed(second_id)
    await payer.advance()
    assert (await payer.batch(second_id)).reason == "a coin was spent by another transaction"
    with pytest.raises(OperatorRefusedError, match="signed and may have been sent"):
        await payer.cancel(second_id)
    payer.core.mine(FINAL)
    await payer.advance()
    assert ((await payer.batch(first_id)).status, await payer.statuses([made.id])) == ("confirmed", ["completed"])
    await payer.cancel(second_id)
    assert ((await payer.batch(second_id)).status, await payer.statuses([made.id])) == ("canceled", ["completed"])
    await payer.submit(made.id)
    assert (await payer.withdrawal(made.id)).tx_hash == first.txid


async def test_coins_that_somebody_else_spent_void_a_batch(payer: BitcoinPayer) -> None:
    """It stays open until that is final. Then it can be canceled, and the payout is paid from other coins, or refused."""
    one, two = await payer.withdraw("0.0004"), await payer.withdraw("0.0003")
    batch_id = await payer.export()
    await payer.import_signed(batch_id)
    coins = [(row["txid"], row["vout"]) for row in await payer.services.db.fetch(COINS, batch_id)]
    payer.core.pay((THEIRS, 1_000), spends=coins)
    payer.core.mine()
    await payer.advance()
    assert (await payer.batch(batch_id)).conflict_height is not None
    payer.core.reorganize(1, keep=False)
    await payer.advance()
    assert (await payer.batch(batch_id)).conflict_height is None
    payer.core.pay((THEIRS, 2_000), spends=coins)
    payer.core.mine()
    await payer.advance()
    payer.core.mine(FINAL)
    await payer.advance()
    assert (await payer.batch(batch_id)).void_at is not None
    await payer.cancel(batch_id)
    await payer.refuse(two.id)
    assert (await payer.withdrawal(two.id)).status == "failed"
    [draft] = await payer.drafts(await payer.export())
    assert not set(coins) & spent(draft.psbt)
    assert await payer.statuses([one.id]) == ["batched"]


async def test_what_others_sign_and_send_is_found(payer: BitcoinPayer) -> None:
    """A draft was sent by the program that signed it, and never imported."""
    made = await payer.withdraw("0.0004")
    batch_id = await payer.export()
    [draft] = await payer.drafts(batch_id)
    payer.send_elsewhere(draft.psbt)
    await payer.advance()
    assert (await payer.batch(batch_id)).status == "broadcast"
    with pytest.raises(OperatorRefusedError, match="signed and may have been sent"):
        await payer.cancel(batch_id)
    payer.core.mine(FINAL)
    await payer.advance()
    assert await payer.statuses([made.id]) == ["completed"]


async def test_a_reorganisation_after_completion_is_reported_and_sent_again(payer: BitcoinPayer) -> None:
    """Its bytes are sent again; until they are in a block, an invariant is broken."""
    await payer.withdraw("0.0004")
    batch_id = await payer.export()
    await payer.import_signed(batch_id)
    await payer.advance()
    payer.core.mine(FINAL)
    await payer.advance()
    payer.core.reorganize(FINAL, keep=False)
    await payer.advance()
    assert (await payer.batch(batch_id)).reason == "its transaction is in no block any more"
    assert any(str(batch_id) in line for line in await broken_invariants(payer.actor.service.dsn))
    payer.core.mine(FINAL)
    await payer.advance()
    assert (await payer.batch(batch_id)).reason is None
    payer.core.mine(100)
    await payer.advance()
    assert await payer.services.db.fetch("SELECT FROM bitcoin_batches WHERE id = $1 AND check_at IS NULL", batch_id)


async def test_when_there_is_no_draft(payer: BitcoinPayer) -> None:
    """Too few coins, a fee that is not known or too high, and payments that are refused before."""
    core = payer.core
    await payer.withdraw("0.00499")
    core.fee_rate = None
    batch_id = await payer.export()
    assert (await payer.batch(batch_id)).reason == "the node cannot estimate the network fee"
    assert await payer.measure() == "provider_down"
    core.fee_rate = "0.01000000"
    await payer.advance()
    assert "more than the maximum" in ((await payer.batch(batch_id)).reason or "")
    core.fee_rate = "0.00150000"
    await payer.advance()
    assert "do not cover" in ((await payer.batch(batch_id)).reason or "")
    with pytest.raises(OperatorRefusedError, match="There is no draft: The confirmed coins do not cover"):
        await payer.signed(batch_id)
    core.fee_rate = "0.00001000"
    await payer.advance()
    assert ((await payer.batch(batch_id)).status, await payer.measure()) == ("drafted", "provider_down")  # nothing is left
    payouts = payer.network.payouts
    assert payouts is not None
    for receiver, minor, code in ((THEIRS, 200, "payout_declined"), ("nowhere", 1_000, "receiver_invalid")):
        order = PayoutOrder(new_id(), "m", "BTC", minor, receiver, {}, clock.now())
        assert (await payouts.submit("withdrawal", order)).failure_code == code
    assert (await payouts.state(uuid4())).outcome == "absent"


async def test_the_database_refuses_what_must_not_be(payer: BitcoinPayer) -> None:
    """Canceling what is signed, other bytes, a coin twice, and money that leaves without a batch."""
    made = await payer.withdraw("0.0004")
    batch_id = await payer.export()
    await payer.import_signed(batch_id)
    db = payer.services.db
    for sql, constraint in (
        ("UPDATE bitcoin_batches SET status = 'canceled' WHERE id = $1", "what is signed may be sent"),
        ("UPDATE bitcoin_batches SET change_index = 7777 WHERE id = $1", "stays what it is"),
        ("UPDATE bitcoin_transactions SET raw = 'x' WHERE batch_id = $1", "never changed"),
        ("UPDATE bitcoin_batch_coins SET amount_minor = 1 WHERE batch_id = $1", "never changed"),
        ("DELETE FROM bitcoin_batches WHERE id = $1", "never changed"),
        (COIN_AGAIN, "bitcoin_batch_coins_held"),
    ):
        with pytest.raises(asyncpg.PostgresError, match=constraint):
            await db.execute(sql, batch_id)
    for sql, constraint in (
        ("UPDATE bitcoin_payouts SET address = 'elsewhere' WHERE id = $1", "stays what it is"),
        ("UPDATE bitcoin_payouts SET status = 'failed' WHERE id = $1", "batched cannot become failed"),
    ):
        with pytest.raises(asyncpg.PostgresError, match=constraint):
            await db.execute(sql, made.id)


async def test_a_deposit_that_is_not_in_the_ledger_is_found(payer: BitcoinPayer) -> None:
    """By comparing the ledger with deposits and payouts."""
    async with payer.services.db.connection() as tx:
        undone = tx.raw.transaction()
        await undone.start()
        assert [row for row in await tx.fetch(I32_BITCOIN) if row["line"].startswith(payer.name)] == []
        await tx.execute(DEPOSIT, payer.name)
        found = [row["line"] for row in await tx.fetch(I32_BITCOIN) if row["line"].startswith(payer.name)]
        await undone.rollback()
    assert found == [f"{payer.name}: the ledger has 500000, deposits and payouts in bitcoin make 500007"]


async def test_paused_payouts_are_accepted_and_neither_exported_nor_imported(payer: BitcoinPayer) -> None:
    """Orders are rows until an operator exports them."""
    made = await payer.withdraw("0.0004")
    batch_id = await payer.export()
    returned = await payer.signed(batch_id)
    await payer.services.transact(lambda work: pauses.pause(work, payer.olga), clock.now(), OPERATOR)
    try:
        other = await payer.withdraw("0.0003")
        for attempt in (payer.import_signed(batch_id, returned), payer.export(other.id), payer.replace(batch_id)):
            with pytest.raises(OperatorRefusedError, match="paused"):
                await attempt
        with pytest.raises(asyncpg.CheckViolationError, match="paused"):
            await payer.services.db.execute("UPDATE bitcoin_payouts SET status = 'batched' WHERE id = $1", other.id)
    finally:
        await payer.services.transact(lambda work: pauses.resume(work, None, payer.olga), clock.now(), OPERATOR)
    assert await payer.statuses([made.id, other.id]) == ["batched", "waiting"]
    await payer.import_signed(batch_id, returned)


async def test_a_payout_is_refused_before_its_export(payer: BitcoinPayer) -> None:
    """The merchant has the money again; a batch that was never drafted holds nothing back."""
    made = await payer.withdraw("0.0004")
    payer.core.fee_rate = None
    batch_id = await payer.export()
    with pytest.raises(OperatorRefusedError, match="Cancel the batch first"):
        await payer.refuse(made.id)
    await payer.cancel(batch_id)
    await payer.refuse(made.id)
    assert (await payer.withdrawal(made.id)).status == "failed"
    with pytest.raises(OperatorRefusedError, match="No payouts are pending"):
        await payer.export()
    listed = await bitcoin_payouts.list_batches(payer.services)
    assert [batch.status for batch in listed if batch.id == batch_id] == ["canceled"]


async def test_rails_without_a_fingerprint_pay_nothing_out(payer: BitcoinPayer) -> None:
    """Their methods stay unavailable, and commands say so."""
    payer.network.settings = msgspec.structs.replace(payer.network.settings, fingerprint=None)
    assert payer.services.rails.payout_error(payer.name, "live", "BTC") == "provider_not_configured"
    assert jobs.accepting(payer.services) == []
    with pytest.raises(OperatorRefusedError, match="No rail of Bitcoin with a fingerprint"):
        bitcoin_payouts.find_network(payer.services)
