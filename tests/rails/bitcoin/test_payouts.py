"""Payouts in bitcoin, from withdrawal to final block: exported, signed elsewhere, imported, sent once."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from btclib.tx import Tx as BitcoinTx
from btclib_wallet.psbt import Psbt

from tests.command import Outcome, tollhouse
from tests.payments.bank import refund
from tests.rails.bitcoin.paying import FINAL, BitcoinPayer
from tests.rails.bitcoin.receiving import PRICE
from tests.rails.bitcoin.wallet import ACCOUNT, FINGERPRINT, THEIRS, sign
from tests.running import CATALOGUE
from tollhouse.accounts.approvals.model import OperatorRefusedError, Reviewer
from tollhouse.kernel import clock
from tollhouse.payments.refunds import jobs as refund_jobs
from tollhouse.payments.refunds import review as reviewing
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bitcoin.network import keys

OTHER = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
ACTIONS = "SELECT action FROM operator_actions WHERE subject_id = $1 ORDER BY at, id"


async def test_a_batch_is_paid_from_withdrawal_to_final_block(payer: BitcoinPayer) -> None:
    """Two withdrawals in one transaction; the fee is shared, and the change can be spent by the next batch."""
    first, second = await payer.withdraw("0.0012"), await payer.withdraw("0.0005", OTHER)
    assert await payer.statuses([first.id, second.id]) == ["waiting", "waiting"]
    batch_id = await payer.export()
    batch = await payer.batch(batch_id)
    assert (batch.status, batch.reason, await payer.statuses([first.id])) == ("drafted", None, ["batched"])
    [draft] = await payer.drafts(batch_id)
    outputs = [(output.script_pub_key.address, output.value) for output in Psbt.b64decode(draft.psbt).tx.vout]
    assert outputs[:2] == [(THEIRS, first.receive_minor), (OTHER, second.receive_minor)]
    assert outputs[2] == (keys.address(ACCOUNT, keys.CHANGE, 0), draft.change_minor)
    await payer.import_signed(batch_id)
    assert (await payer.batch(batch_id)).status == "signed"
    await payer.advance()
    assert (await payer.batch(batch_id)).status == "broadcast"
    assert payer.core.sent == [draft.txid]
    payer.core.mine(FINAL - 1)
    await payer.advance()
    assert ((await payer.batch(batch_id)).confirmations, await payer.statuses([first.id])) == (5, ["batched"])
    payer.core.mine()
    await payer.advance()
    batch = await payer.batch(batch_id)
    assert (batch.status, batch.txid) == ("confirmed", draft.txid)
    for payment in (first, second):
        await payer.submit(payment.id)
        completed = await payer.withdrawal(payment.id)
        assert (completed.status, completed.tx_hash) == ("completed", draft.txid)
        assert completed.network_paid_minor == draft.fee_minor // 2
    left = 500_000 - first.receive_minor - second.receive_minor - draft.fee_minor
    assert await payer.booked(f"rail:{payer.name}") == left
    actions = [row["action"] for row in await payer.services.db.fetch(ACTIONS, batch_id)]
    assert actions == ["bitcoin_batch_exported", "bitcoin_batch_imported"]
    third = await payer.withdraw("0.0028")
    spent = [spent.prev_out for spent in Psbt.b64decode((await payer.drafts(await payer.export()))[0].psbt).tx.vin]
    assert (bytes.fromhex(draft.txid), 2) in [(one.tx_id, one.vout) for one in spent]
    assert await payer.statuses([third.id]) == ["batched"]


async def test_what_is_returned_must_be_the_draft_that_was_exported(payer: BitcoinPayer) -> None:
    """Not with another receiver, unsigned, or of another batch; and only once."""
    first, second = await payer.withdraw("0.0005"), await payer.withdraw("0.0006")
    one, other = await payer.export(first.id), await payer.export(second.id)
    [draft] = await payer.drafts(one)
    altered = Psbt.b64decode(draft.psbt)
    thief = Psbt.b64decode((await payer.drafts(other))[0].psbt)
    altered.outputs[0] = thief.outputs[0]
    for returned, why in (
        (sign(altered.b64encode()).b64encode().encode(), "another transaction"),
        (await payer.signed(other), "another transaction"),
        (draft.psbt.encode(), "not signed"),
        (b"nonsense", "not signed"),
    ):
        with pytest.raises(OperatorRefusedError, match=why):
            await payer.import_signed(one, returned)
    assert (await payer.batch(one)).status == "drafted"
    await payer.advance()
    assert payer.core.sent == []
    await payer.import_signed(one)
    with pytest.raises(OperatorRefusedError, match="imported before"):
        await payer.import_signed(one)
    with pytest.raises(OperatorRefusedError, match="signed and may have been sent"):
        await payer.cancel(one)


async def test_two_operators_and_two_workers_at_once_make_one_transaction(payer: BitcoinPayer) -> None:
    """Exports of the same payouts, drafts of batches that want the same coins, and imports of the same file."""
    first, second = await payer.withdraw("0.0005"), await payer.withdraw("0.0006")
    raced = await asyncio.gather(*(payer.export(first.id) for _ in range(3)), return_exceptions=True)
    [batch_id] = [outcome for outcome in raced if isinstance(outcome, UUID)]
    assert {type(outcome) for outcome in raced} == {UUID, OperatorRefusedError}
    other = await payer.export(second.id)
    await asyncio.gather(*(payer.advance() for _ in range(3)))
    for _ in range(2):
        await payer.advance()
    coins = [
        {(spent.prev_out.tx_id, spent.prev_out.vout) for spent in Psbt.b64decode(draft.psbt).tx.vin}
        for one in (batch_id, other)
        for draft in await payer.drafts(one)
    ]
    assert len(coins) == 2
    assert not coins[0] & coins[1]
    returned = await payer.signed(batch_id)
    raced = await asyncio.gather(*(payer.import_signed(batch_id, returned) for _ in range(3)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in raced) == [
        "NoneType",
        "OperatorRefusedError",
        "OperatorRefusedError",
    ]
    await asyncio.gather(*(payer.advance() for _ in range(3)))
    assert set(payer.core.sent) == {(await payer.drafts(batch_id))[0].txid}


async def test_canceling_while_importing_either_cancels_or_signs(payer: BitcoinPayer) -> None:
    """Whoever is first wins; a batch that is signed is not canceled."""
    for _ in range(3):
        await payer.withdraw("0.0004")
        batch_id = await payer.export()
        returned = await payer.signed(batch_id)
        outcomes = await asyncio.gather(
            payer.import_signed(batch_id, returned), payer.cancel(batch_id), return_exceptions=True
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "OperatorRefusedError"]
        batch, [draft] = await payer.batch(batch_id), await payer.drafts(batch_id)
        assert (batch.status, draft.raw is None) in {("signed", False), ("canceled", True)}


async def test_an_import_that_was_stored_is_sent_with_the_same_bytes(payer: BitcoinPayer) -> None:
    """The process died before it was sent, the answer was lost, and the node has forgotten it."""
    await payer.withdraw("0.0004")
    batch_id = await payer.export()
    await payer.import_signed(batch_id)
    [draft] = await payer.drafts(batch_id)
    payer.core.fails["sendrawtransaction"] = 1
    await payer.advance()
    assert (await payer.batch(batch_id)).status == "signed"
    await payer.advance()
    await payer.advance()
    assert (await payer.batch(batch_id)).status in {"signed", "broadcast"}
    payer.core.evict(draft.txid)
    await payer.advance()
    assert draft.txid in payer.core.mempool
    assert set(payer.core.sent) == {draft.txid}
    assert BitcoinTx.parse(draft.raw or b"").id.hex() == draft.txid
    payer.core.mine(FINAL)
    await payer.advance()
    assert (await payer.batch(batch_id)).status == "confirmed"


async def test_paused_payouts_and_suspended_merchants_are_neither_exported_nor_imported(payer: BitcoinPayer) -> None:
    """Also when they were suspended between both."""
    made = await payer.withdraw("0.0004")
    actor = payer.actor
    batch_id = await payer.export()
    returned = await payer.signed(batch_id)
    await actor.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", actor.merchant_id)
    try:
        with pytest.raises(OperatorRefusedError, match="suspended merchants"):
            await payer.import_signed(batch_id, returned)
        with pytest.raises(OperatorRefusedError, match="suspended merchants"):
            await payer.signed(batch_id)
        await payer.cancel(batch_id)
        with pytest.raises(OperatorRefusedError, match="suspended"):
            await payer.export(made.id)
        with pytest.raises(OperatorRefusedError, match="No payouts are pending"):
            await payer.export()
    finally:
        await actor.sql("UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid", actor.merchant_id)
    again = await payer.export(made.id)
    await payer.import_signed(again)
    assert (await payer.batch(again)).status == "signed"


@pytest.mark.long
async def test_operators_export_and_import_on_the_command_line(payer: BitcoinPayer, tmp_path: Path) -> None:
    """Receivers and totals are shown before; without a person to confirm, nothing is exported."""
    made = await payer.withdraw("0.0004")
    rails = tmp_path / "rails.toml"
    rails.write_text(f'[{payer.name}]\nkind = "bitcoin"\nnetwork = "main"\nfingerprint = "{FINGERPRINT}"\n')

    async def operator(*words: str) -> Outcome:
        return await tollhouse(payer.actor.service, "operator", "bitcoin-payouts", *words, TOLLHOUSE_RAILS_FILE=str(rails))

    for words in (("export",), ("export", "--dry-run")):
        shown = await operator(*words)
        assert f"{made.id} 0.00039700 BTC {THEIRS} 1 payouts, 0.00039700 BTC." in shown.talk
    assert await payer.statuses([made.id]) == ["waiting"]
    assert "such as 3.5" in (await operator("export", "--yes", "--fee-rate", "free")).talk
    exported = (await operator("export", "--yes", "--fee-rate", "3.5", "--json")).json
    batch_id = exported["subject_id"]
    assert "not made the draft yet" in (await operator("file", batch_id)).talk
    await payer.advance()
    psbt = await operator("file", batch_id)
    (tmp_path / "signed.psbt").write_bytes(sign(psbt.out).serialize())
    assert "cannot be read" in (await operator("import", batch_id, str(tmp_path / "none.psbt"))).talk
    assert (await operator("import", batch_id, str(tmp_path / "signed.psbt"))).status == 0
    await payer.advance()
    [listed] = [batch for batch in (await operator("batches", "--json")).json["batches"] if batch["id"] == batch_id]
    assert (listed["status"], listed["amount"], listed["payouts"]) == ("broadcast", "0.00039700", 1)
    refused = await operator("cancel", batch_id, "--reason", "A mistake.")
    assert (refused.status, "may have been sent" in refused.talk) == (1, True)
    assert (await operator("replace", batch_id)).status == 0
    assert "0.00039700" in (await operator("list")).out
    for command in ("approve", "refuse"):
        words = ("--reason", "A mistake.") if command == "refuse" else ()
        assert "Cancel the batch first" in (await operator(command, str(made.id), *words)).talk


async def test_the_share_of_a_refund_is_an_expense(payer: BitcoinPayer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A withdrawal pays its own; an operator has approved the receiver of the refund."""
    monkeypatch.setitem(payer.actor.service.rails.providers, (payer.name, "live"), payer.network)
    method_id = f"{payer.name}:BTC"
    monkeypatch.setitem(CATALOGUE.methods, method_id, payer.services.catalogue.methods[method_id])
    made, to = await payer.bought()
    payer.core.pay((to, PRICE))
    payer.core.mine(2)
    await payer.look()
    asked = await refund(payer.actor, {"id": str(made.id)}, mode="live", receiver=THEIRS)
    refund_id = UUID(asked.ok(201).body["id"])

    async def approve(tx: Tx) -> None:
        await reviewing.approve(tx, await reviewing.lock(tx, refund_id), Reviewer("olga"), None, clock.now())

    await payer.services.db.transact(approve)
    withdrawn = await payer.withdraw("0.0004")
    await refund_jobs.submit_refunds(payer.services)
    batch_id = await payer.export()
    await payer.import_signed(batch_id)
    await payer.advance()
    payer.core.mine(FINAL)
    before = await payer.booked("expense:network_fee")
    await payer.advance()
    [draft] = await payer.drafts(batch_id)
    assert await payer.statuses([refund_id, withdrawn.id]) == ["completed", "completed"]
    share = draft.fee_minor // 2
    assert (await payer.batch(batch_id)).expensed_fee_minor == draft.fee_minor - share
    assert await payer.booked("expense:network_fee") - before == draft.fee_minor - share
    await payer.services.db.execute("UPDATE refunds SET next_look_at = now() - interval '1 s' WHERE id = $1", refund_id)
    await refund_jobs.submit_refunds(payer.services)
    assert (await payer.payment(made.id)).status == "refunded"
