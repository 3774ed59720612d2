"""Status reports of the bank (pain.002): a rejected payout fails, unless a statement shows that it left."""

from uuid import UUID

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Work
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.text import Text, as_text
from tollhouse.rails.bank import messages_store, payouts_store
from tollhouse.rails.bank.files.batch import id_in
from tollhouse.rails.bank.files.status_report import INVALID_RECEIVER, Reason, StatusReport
from tollhouse.rails.bank.model import BankPorts, BankRefusedError, StoredPayout


async def apply_report(work: Work, report: StatusReport, ports: BankPorts, context: OperatorContext) -> tuple[int, int]:
    """End the payouts that the bank has rejected. Returns their number, and that of rejections that have ended nothing.

    Nothing is ended that a statement shows as sent, that has ended, or that was rejected as a copy of what the bank has.
    Raises `BankRefusedError` if the file is not ours, and `OperatorRefusedError` for a payout of the operator's own.
    """
    batch_id = id_in(report.about)
    payouts = {} if batch_id is None else {one.id: one for one in await payouts_store.hold_batch(work.tx, batch_id)}
    if batch_id is None or not payouts:
        raise BankRefusedError(Text("No batch has the ID %(name)s that the status report names.", name=report.about))
    reasons: dict[UUID, Reason] = {}
    for end_to_end_id, reason in report.rejected:
        payout_id = None if end_to_end_id is None else id_in(end_to_end_id)
        if end_to_end_id is not None and payout_id not in payouts:
            raise BankRefusedError(
                Text("The batch has no payout %(name)s, which the status report rejects.", name=end_to_end_id)
            )
        for one in payouts if payout_id is None else (payout_id,):
            reasons.setdefault(one, reason)
    ended = [
        (payout, reasons[payout.id])
        for payout in payouts.values()
        if payout.id in reasons and _may_end(payout, reasons[payout.id])
    ]
    for payout, _ in ended:
        await rules.ensure_independent(work.tx, payout.env.merchant_id, context.reviewer)
    for payout, reason in ended:
        await _end(work, payout, reason, ports, context)
    counts = len(ended), len(reasons) - len(ended)
    await messages_store.insert_report(work.tx, batch_id, report, counts, context)
    return counts


def _may_end(payout: StoredPayout, reason: Reason) -> bool:
    return payout.status == "exported" and not payout.debited and not reason.is_duplicate


async def _end(work: Work, payout: StoredPayout, reason: Reason, ports: BankPorts, context: OperatorContext) -> None:
    origin = ports.origins[payout.kind]
    end = origin.receiver_invalid if reason.code in INVALID_RECEIVER else origin.refused
    try:
        await end(work, payout.env, payout.id)
    except ApiError as lost:
        raise BankRefusedError(
            Text("Payout %(payout_id)s cannot be refused: %(message)s", payout_id=payout.id, message=as_text(lost.message))
        ) from None
    by_bank = OperatorContext(context.operator, context.at, reason.text, context.on_command_line)
    if not await payouts_store.refuse(work.tx, payout.id, by_bank):
        raise AssertionError("a locked payout does not change")
    await ports.keep(work, by_bank, "payout_refused", payout.id, payout.env)
