"""Payouts by bank: prepared, exported by an operator, confirmed by the statement that shows them leave, sometimes returned.

A payout leaves once: its id is that of the order that it carries out, and only what is prepared is ever exported.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct, structs

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals import store as approvals_store
from tollhouse.accounts.approvals.model import Decision, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import is_bic_of, parse_iban
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import RETURN_FEE_MAX_MINOR, second_operator_above
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text, as_text
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.bank import channel_store, orders_store, payouts_store
from tollhouse.rails.bank.channel_store import channel_of
from tollhouse.rails.bank.files.batch import Batch, id_in, outside_eea
from tollhouse.rails.bank.files.statement import Entry, Part
from tollhouse.rails.bank.files.transfer import CURRENCY, NAME, BankAccount, Payout
from tollhouse.rails.bank.model import NOTHING_LEFT, ListedPayout, PayoutStatus, Prepared, StoredPayout, ended_otherwise
from tollhouse.rails.bank.store import Placed
from tollhouse.rails.batches import actions
from tollhouse.rails.batches.actions import BatchRail
from tollhouse.rails.batches.model import Decided
from tollhouse.transfers.gate import exports, gate, pauses_store
from tollhouse.transfers.gate.model import OutgoingTransfer

NO_REASON = "unknown"
REFUSED_COUNT_FOR = timedelta(hours=24)
NO_ROOM = "The bank returned the payout, but the amount would exceed the limit of the merchant's balance."
UNEXPECTED_DEBIT = {
    "prepared": "The bank debited a payout that was not exported.",
    "confirmed": "The bank debited a payout that was already confirmed.",
    "refused": "The bank debited a payout that was refused.",
}
UNEXPECTED_RETURN = {
    "prepared": "The bank returned a payout that was not exported.",
    "returned": "The bank returned a payout that was already returned.",
    "refused": "The bank returned a payout that was refused.",
}


async def prepare_accepted(tx: Tx, now: datetime) -> None:
    """Insert payouts for accepted refunds and withdrawals that have none."""
    waiting = [*await orders_store.list_refunds(tx), *await orders_store.list_withdrawals(tx)]
    stored = await payouts_store.find_stored(tx, [payout.id for payout in waiting])
    for payout in waiting:
        if payout.id in stored:  # most are known: exported, but not on a statement yet
            continue
        iban = parse_iban(payout.receiver_iban)
        if iban is None:  # accepted by another rail that had this name before
            log.error("payout_without_account", part=payout.kind, detail=str(payout.id))
            continue
        await payouts_store.prepare(tx, await _with_payer(tx, payout, iban), iban, now)


async def _with_payer(tx: Tx, payout: Payout, iban: str) -> Payout:
    """A refund to the account that paid, with the BIC and address of the statement that showed the payment."""
    if payout.payment_reference is None:
        return payout
    bic, address = await payouts_store.find_payer(tx, payout.payment_reference, iban)
    fitting = bic if bic is not None and is_bic_of(bic, iban) else None
    return structs.replace(payout, receiver_bic=fitting, receiver_address=address)


async def listed(
    tx: Tx, status: PayoutStatus | None, now: datetime, catalogue: Catalogue, limit: int | None = None, offset: int = 0
) -> list[ListedPayout]:
    """Payouts with this status, newest first."""
    await prepare_accepted(tx, now)
    return await payouts_store.listed(tx, status, catalogue, limit, offset)


async def exportable(tx: Tx, context: OperatorContext, catalogue: Catalogue) -> Prepared:
    """The prepared payouts that this operator may export."""
    leaving = await exports.filter_exportable(tx, await payouts_store.list_prepared(tx), context.reviewer, context.at)
    return Prepared(
        len(leaving), catalogue.format_amount(sum(payout.amount_minor for payout in leaving), CURRENCY), CURRENCY
    )


async def export(
    work: Work, account: BankAccount | None, selected: Sequence[UUID] | None, context: OperatorContext
) -> Batch:
    """Export prepared payouts, or a selection of them, as a batch for the bank.

    Raises `OperatorRefusedError`, also where something that is wanted may not leave. The batch can be written as often as
    needed, by its id.
    """
    if account is None:
        raise OperatorRefusedError("No bank account is configured. Set TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER.")
    await prepare_accepted(work.tx, context.at)
    leaving = await actions.lock_exportable(work, BANK, selected, context)
    batch_id = new_id()
    await payouts_store.export(work.tx, batch_id, account, [payout.id for payout in leaving], context)
    batch = await payouts_store.batch(work.tx, batch_id)
    if batch is None:
        raise AssertionError("the batch was just inserted")
    if account.address is None and (abroad := outside_eea(batch)):
        raise OperatorRefusedError(
            Text(
                "Payout %(payout_id)s goes to %(country)s, outside the EEA. The bank needs your address for it. Set "
                "TOLLHOUSE_BANK_ADDRESS, or export the other payouts without it.",
                payout_id=id_in(abroad[0].end_to_end_id) or abroad[0].end_to_end_id,
                country=abroad[0].receiver_iban[:2],
            )
        )
    if channel_of(work.services.settings).sends:
        await channel_store.insert(work.tx, batch_id, context.at)
    await record.record_action(work, context, "batch_exported", None, subject_id=batch_id)
    return batch


async def batch(db: Pool, batch_id: UUID) -> Batch | None:
    """An exported batch, without payouts that were refused since.

    Raises `OperatorRefusedError` where nothing is left, a merchant was suspended before its money left, or payouts are
    paused.
    """
    found = await payouts_store.batch(db, batch_id)
    if found is None:
        return None
    if not found.transfers:
        raise OperatorRefusedError(NOTHING_LEFT)
    await actions.ensure_may_leave(db, BANK, batch_id)
    return found


async def approve(work: Work, payout_id: UUID, context: OperatorContext) -> Decided:
    """Approve, as second operator, a prepared payout. Raises `OperatorRefusedError`."""
    return await actions.approve(work, BankPayouts(("prepared",)), payout_id, context)


async def refuse(work: Work, payout_id: UUID, context: OperatorContext, seen: PayoutStatus | None = None) -> Decided:
    """Refuse a payout, or record that the bank did not carry it out. The money goes back. Raises `OperatorRefusedError`.

    `seen`: as it was looked at. One that was exported meanwhile may be at the bank, which is another question.
    """
    return await actions.refuse(work, BankPayouts(seen=seen), payout_id, context)


class BankPayouts(Struct, frozen=True):
    """The payouts of the bank, for what is common to all rails. `statuses`: those in which one can be decided."""

    statuses: tuple[PayoutStatus, ...] = ("prepared", "exported")
    seen: PayoutStatus | None = None

    async def lock_waiting(self, tx: Tx, *, payout_ids: Collection[UUID] | None) -> list[OutgoingTransfer]:
        """Lock prepared payouts."""
        return await payouts_store.lock_prepared(tx, payout_ids)

    async def list_suspended(self, db: Pool | Tx, *, batch_id: UUID) -> list[UUID]:
        """The exported ones of suspended merchants."""
        return await payouts_store.suspended_in(db, batch_id)

    def suspended_error(self, *, suspended: str) -> Text:
        """Refused payouts are left out of the file."""
        return Text(
            "This batch contains payouts of suspended merchants: %(suspended)s. Refuse them first.", suspended=suspended
        )

    async def lock(self, work: Work, *, payout_id: UUID) -> StoredPayout:
        """Lock a payout that has one of the statuses, and the one that was seen. Raises `OperatorRefusedError`."""
        await prepare_accepted(work.tx, work.now)
        payout = await _lock(work.tx, payout_id, *self.statuses)
        if self.seen is not None and payout.status != self.seen:
            raise OperatorRefusedError(
                Text(
                    "Payout %(payout_id)s is now %(status)s. Check it again.",
                    payout_id=payout_id,
                    status=as_text(payout.status),
                )
            )
        return payout

    async def ensure_refusable(self, work: Work, *, payout: StoredPayout, context: OperatorContext) -> Decided | None:
        """Two operators approve it where the bank can have paid more than one may give: what was exported."""
        if payout.batch_id is not None and await channel_store.lock_being_sent(work.tx, payout.batch_id, work.now):
            raise OperatorRefusedError("The file of this payout is being sent to the bank. Try again in a few minutes.")
        if not await _refusing_needs_two(work, payout):
            return None
        approvals = await rules.approve_decision(work, Decision("payout_refusal", payout.id, payout.status), context)
        approved = await actions.record_decision(work, context, "payout_refusal_approved", payout.id, "approved", payout.env)
        return None if approvals.complete else approved

    async def end(self, work: Work, *, payout_id: UUID, context: OperatorContext) -> None:
        """Refuse the payout."""
        if not await payouts_store.refuse(work.tx, payout_id, context):
            raise AssertionError("a locked payout does not change")


BANK: BatchRail[StoredPayout] = BankPayouts()


async def _refusing_needs_two(work: Work, payout: StoredPayout) -> bool:
    """Whether the exported payouts of the merchant that were refused in 24 hours exceed with this one the threshold."""
    if payout.status != "exported":
        return False
    merchant_id = payout.env.merchant_id
    await approvals_store.lock(work.tx, "payout_refusal", merchant_id)
    since = work.now - REFUSED_COUNT_FOR
    refused_minor = await payouts_store.sum_refused(work.tx, merchant_id, payout.currency, since)
    currency = work.services.catalogue.currencies[payout.currency]
    above_minor = second_operator_above(currency, work.services.catalogue.withdrawal_methods.values())
    return refused_minor + payout.amount_minor > above_minor


async def match_transfer(work: Work, entry: Entry, part: Part) -> Placed | None:
    """Apply a transfer to the payout whose id it has; None if it has no payout's id."""
    payout = await _named(work.tx, part.end_to_end_id)
    if payout is None:
        return await _confirm_batch(work, entry, part)
    marked = entry.is_reversal or part.return_reason is not None
    if (payout.currency, payout.amount_minor) != (entry.currency, part.amount_minor):
        return _unmatched(payout, "The amount differs from that of the payout with this ID.")
    if marked != (entry.side == "credit"):
        return _unmatched(payout, "The transfer has the ID of a payout, but is neither its debit nor its return.")
    try:
        if marked:
            return await _return(work, payout, part.return_reason or NO_REASON)
        return await _confirm(work, payout, is_export_lost=await _is_export_lost(work.tx, payout))
    except ApiError as lost:  # before anything was written
        full = isinstance(lost, BalanceLimitExceeded)
        return _unmatched(payout, NO_ROOM if full else str(ended_otherwise(lost.code)))


def id_of(end_to_end_id: str | None) -> list[UUID]:
    """The payout id that a transfer has, as a list; empty without one."""
    payout_id = id_in(end_to_end_id)
    return [] if payout_id is None else [payout_id]


async def match(work: Work, payout_ids: Sequence[UUID], amount: tuple[str, int]) -> Placed:
    """Confirm prepared payouts that the bank debited in one transfer, although no export of them is known.

    `amount` is the currency and the minor units of the transfer. Raises `OperatorRefusedError`, and an `ApiError` if a
    refund or withdrawal has ended otherwise.
    """
    found = [await _lock(work.tx, payout_id, "prepared") for payout_id in sorted(set(payout_ids))]
    currency, amount_minor = amount
    if {payout.currency for payout in found} != {currency} or sum(payout.amount_minor for payout in found) != amount_minor:
        raise OperatorRefusedError("The payouts do not add up to the amount of the transfer.")
    for payout in found:
        await _confirm(work, payout, is_export_lost=True)
    return Placed("payout", payout_id=found[0].id if len(found) == 1 else None)


async def lock_returned(tx: Tx, payout_id: UUID, amount: tuple[str, int], context: OperatorContext) -> StoredPayout:
    """Lock a payout of which this currency and amount came back, or less than was paid. Raises `OperatorRefusedError`."""
    payout = await _lock(tx, payout_id, "exported", "confirmed")
    currency, amount_minor = amount
    if payout.currency != currency or amount_minor > payout.amount_minor:
        raise OperatorRefusedError("The transfer is more than the payout. Only what was paid, or less, can be returned.")
    await rules.ensure_independent(tx, payout.env.merchant_id, context.reviewer)
    return payout


def return_fee_max(payout: StoredPayout, catalogue: Catalogue) -> int:
    """How much less than was paid a single operator may take for the whole payout: the difference is a bank fee."""
    method = gate.method_of(NAME, payout.currency, catalogue)
    return RETURN_FEE_MAX_MINOR if method is None else method.return_fee_max_minor


async def return_less(work: Work, payout: StoredPayout, amount_minor: int) -> Placed:
    """Return a locked payout of which this amount came back. The merchant gets all of it. Raises `OperatorRefusedError`."""
    try:
        placed = await _return(work, payout, NO_REASON)
    except ApiError as lost:
        raise OperatorRefusedError(as_text(lost.message)) from None
    return structs.replace(
        placed, fee_minor=payout.amount_minor - amount_minor, fee_max_minor=return_fee_max(payout, work.services.catalogue)
    )


async def _lock(tx: Tx, payout_id: UUID, *statuses: PayoutStatus) -> StoredPayout:
    """The payout, locked. Raises `OperatorRefusedError` if it has another status."""
    payout = await payouts_store.lock(tx, payout_id)
    if payout is None:
        raise OperatorRefusedError(Text("There is no payout %(payout_id)s.", payout_id=payout_id))
    if payout.status not in statuses:
        raise OperatorRefusedError(
            Text("Payout %(payout_id)s is already %(status)s.", payout_id=payout_id, status=as_text(payout.status))
        )
    return payout


async def _confirm_batch(work: Work, entry: Entry, part: Part) -> Placed | None:
    """Confirm a batch that the bank booked as a single entry."""
    batch_id = id_in(entry.batch_id)
    if batch_id is None or entry.side != "debit" or entry.is_reversal or len(entry.parts) != 1 or part.end_to_end_id:
        return None
    payouts = [payout for payout in await payouts_store.lock_batch(work.tx, batch_id) if payout.status != "refused"]
    if not payouts:
        return None
    open_ones = [payout for payout in payouts if payout.status == "exported"]
    whole = len(open_ones) == len(payouts) and sum(payout.amount_minor for payout in payouts) == entry.amount_minor
    if not whole or {payout.currency for payout in payouts} != {entry.currency}:
        return Placed(
            "unmatched",
            reason="The entry has the ID of a batch, but its amount differs, or part of the batch was already debited.",
        )
    for payout in payouts:
        await _confirm(work, payout)
    return Placed("payout")


async def _is_export_lost(tx: Tx, payout: StoredPayout) -> bool:
    """Whether a prepared payout was exported after the backup that the database was restored from."""
    return payout.status == "prepared" and any(pause.cause == "restored" for pause in await pauses_store.list_open(tx))


async def _confirm(work: Work, payout: StoredPayout, *, is_export_lost: bool = False) -> Placed:
    if payout.debited:
        return _unmatched(payout, "The bank debited this payout twice.")
    if payout.status not in {"exported", "returned"} and not is_export_lost:
        return _unmatched(payout, UNEXPECTED_DEBIT[payout.status])
    if payout.status != "returned":
        await actions.complete(work, payout)
    confirm = payouts_store.confirm_lost if payout.status == "prepared" else payouts_store.confirm
    if not await confirm(work.tx, payout.id, work.now):
        raise AssertionError("a locked payout does not change")
    return Placed("payout", payout_id=payout.id)


async def _return(work: Work, payout: StoredPayout, reason: str) -> Placed:
    """Return a payout. It was debited before, even if no statement has shown that yet."""
    if payout.status not in {"exported", "confirmed"}:
        return _unmatched(payout, UNEXPECTED_RETURN[payout.status])
    if payout.status == "exported":
        await actions.complete(work, payout)
    await actions.reverse(work, payout)
    if not await payouts_store.record_return(work.tx, payout.id, reason, work.now):
        raise AssertionError("a locked payout does not change")
    return Placed("payout_return", payout_id=payout.id)


async def _named(tx: Tx, end_to_end_id: str | None) -> StoredPayout | None:
    payout_id = id_in(end_to_end_id)
    return None if payout_id is None else await payouts_store.lock(tx, payout_id)


def _unmatched(payout: StoredPayout, reason: str) -> Placed:
    return Placed("unmatched", payout_id=payout.id, reason=reason)
