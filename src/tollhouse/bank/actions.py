"""Decisions of operators on unmatched transfers. Each moves the money in the ledger, from where it waited."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from uuid import UUID

from tollhouse.approvals import rules
from tollhouse.approvals.model import OperatorContext
from tollhouse.bank import books, payouts, store
from tollhouse.bank.model import BankPorts, BankRefusedError, Decided, Doing, Outcome, payer_of
from tollhouse.bank.store import Placed, Waiting
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import creditor_references
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.text import Text, as_text
from tollhouse.kernel.zones import midnight
from tollhouse.platform.db import Tx
from tollhouse.rails.provider import Observation

DECISIONS: Mapping[Outcome, Doing] = {"dismissed": "transfer_dismissed", "payout": "transfer_matched"}


async def assign(work: Work, part_id: UUID, reference: str, ports: BankPorts, context: OperatorContext) -> Decided:
    """Assign an unmatched transfer to the payment with this reference. Raises `BankRefusedError`."""
    waiting = await _hold_waiting(work.tx, part_id)
    names = creditor_references(reference)
    if len(names) != 1:
        raise BankRefusedError(
            Text(
                "%(reference)s is not a reference of a payment. Enter RF followed by digits, as shown at checkout.",
                reference=reference,
            )
        )
    if waiting.side != "credit":
        raise BankRefusedError("An outgoing transfer cannot be assigned to a payment.")
    [name] = names
    owner = await ports.owner(work.tx, name)
    if owner is None:
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=name))
    await rules.ensure_independent(work.tx, owner, context.reviewer)
    seen = Observation(
        reference=name,
        outcome="confirmed",
        external_ref=f"{waiting.identity.hex()}/{waiting.nth}",
        amount_minor=waiting.amount_minor,
        currency=waiting.currency,
        payer=payer_of(waiting.other_iban, waiting.other_name),
        sent_at=waiting.sent_at,
        arrived_at=midnight(waiting.booked_on, UTC),
    )
    if not await ports.observe(work, seen):
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=name))
    return await _decide(work, part_id, waiting, Placed("payment", reference=name), ports, context)


async def dismiss(work: Work, part_id: UUID, ports: BankPorts, context: OperatorContext) -> Decided:
    """Dismiss an unmatched transfer that concerns no merchant, such as a bank fee. Raises `BankRefusedError`."""
    waiting = await _hold_waiting(work.tx, part_id)
    return await _decide(work, part_id, waiting, Placed("dismissed"), ports, context)


async def match(
    work: Work, part_id: UUID, payout_ids: Sequence[UUID], ports: BankPorts, context: OperatorContext
) -> Decided:
    """Match an unmatched debit to prepared payouts whose export is unknown: these, or the one with its ID.

    Raises `BankRefusedError` unless they are prepared and add up to the transfer.
    """
    waiting = await _hold_waiting(work.tx, part_id)
    if waiting.side != "debit":
        raise BankRefusedError("Only an outgoing transfer can be matched to a payout.")
    wanted = payout_ids or payouts.id_of(waiting.end_to_end_id)
    if not wanted:
        raise BankRefusedError("The transfer has no payout ID. Name the payouts that it paid.")
    await payouts.gather(work.tx, ports, context.at)
    try:
        placed = await payouts.match(work, wanted, (waiting.currency, waiting.amount_minor), ports)
    except ApiError as lost:
        raise BankRefusedError(as_text(lost.message)) from None
    return await _decide(work, part_id, waiting, placed, ports, context)


async def _hold_waiting(tx: Tx, part_id: UUID) -> Waiting:
    waiting = await store.hold_part(tx, part_id)
    if waiting is None:
        raise BankRefusedError(Text("There is no transfer %(part_id)s.", part_id=part_id))
    if waiting.outcome != "unmatched":
        raise BankRefusedError(
            Text("Transfer %(part_id)s is already matched: %(outcome)s.", part_id=part_id, outcome=as_text(waiting.outcome))
        )
    return waiting


async def _decide(
    work: Work, part_id: UUID, waiting: Waiting, placed: Placed, ports: BankPorts, context: OperatorContext
) -> Decided:
    step = await store.decide(work.tx, part_id, placed, context, context.at)
    if step is None:
        raise AssertionError("a locked transfer does not change")
    await books.post_decision(work, part_id, waiting, step, placed.outcome)
    action_id = await ports.keep(work, context, DECISIONS.get(placed.outcome, "transfer_assigned"), part_id, None)
    return Decided(part_id, placed.outcome, context.operator, context.reason or "", stamp(context.at), action_id)
