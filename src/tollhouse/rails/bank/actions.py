"""Decisions of operators on unmatched transfers. Each moves the money in the ledger, from where it waited."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals import rules as decisions
from tollhouse.accounts.approvals.model import Decision, OperatorContext
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import creditor_references
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Observation
from tollhouse.kernel.text import Text, as_text
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import books, payouts, provider_payouts_store, store
from tollhouse.rails.bank.model import BankPorts, BankRefusedError, Decided, Doing, Outcome
from tollhouse.rails.bank.observations import observe_transfer
from tollhouse.rails.bank.store import Placed, Waiting

DECISIONS: Mapping[Outcome, Doing] = {
    "payment": "transfer_assigned",
    "payment_return": "transfer_taken_back",
    "payout": "transfer_matched",
    "payout_return": "payout_returned",
    "dismissed": "transfer_dismissed",
    "fee": "transfer_recorded_as_fee",
    "written_off": "transfer_written_off",
    "provider_payout": "transfer_assigned",
}
REOPENED: frozenset[Outcome] = frozenset({"dismissed", "fee", "written_off", "provider_payout"})
"""What concerns no merchant can be decided again."""


async def assign(work: Work, part_id: UUID, reference: str, ports: BankPorts, context: OperatorContext) -> Decided:
    """Assign an unmatched transfer to the payment with this reference. Raises `BankRefusedError`."""
    waiting = await _hold_waiting(work.tx, part_id)
    if waiting.side != "credit":
        raise BankRefusedError("An outgoing transfer cannot be assigned to a payment.")
    seen = await _observation(work, waiting, reference, ports, context)
    if not await ports.observe(work, seen):
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=seen.reference))
    return await _decide(work, part_id, waiting, Placed("payment", reference=seen.reference), ports, context)


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


async def record_fee(work: Work, part_id: UUID, ports: BankPorts, context: OperatorContext) -> Decided:
    """Record an unmatched transfer as a fee of the bank, or as one that it paid back. Raises `BankRefusedError`."""
    waiting = await _hold_waiting(work.tx, part_id)
    return await _decide(work, part_id, waiting, Placed("fee"), ports, context)


async def write_off(work: Work, part_id: UUID, ports: BankPorts, context: OperatorContext) -> Decided:
    """Write an unmatched transfer off as a difference that nobody can explain. Raises `BankRefusedError`."""
    waiting = await _hold_waiting(work.tx, part_id)
    return await _decide(work, part_id, waiting, Placed("written_off"), ports, context)


async def receive(work: Work, part_id: UUID, source: str | None, ports: BankPorts, context: OperatorContext) -> Decided:
    """Record an unmatched credit as a payout of a card provider: the one with this ID there, or the only one of its amount.

    Raises `BankRefusedError`.
    """
    waiting = await _hold_waiting(work.tx, part_id)
    if waiting.side != "credit":
        raise BankRefusedError("An outgoing transfer is not a payout from a card provider.")
    amount = (waiting.currency, waiting.amount_minor)
    expected = await provider_payouts_store.list_expected(work.tx, *amount, source)
    if len(expected) > 1:
        raise BankRefusedError("Several payouts of the provider have this amount. Name the one that arrived.")
    for payout in expected:
        await provider_payouts_store.lock(work.tx, payout.id)
    if not expected or not await provider_payouts_store.list_expected(work.tx, *amount, expected[0].source):
        raise BankRefusedError("No payout of a card provider that has not arrived yet has this amount.")
    return await _decide(work, part_id, waiting, Placed("provider_payout", provider_payout=expected[0]), ports, context)


async def reopen(work: Work, part_id: UUID, ports: BankPorts, context: OperatorContext) -> Decided:
    """Make a transfer unmatched again whose decision concerned no merchant. Raises `BankRefusedError`."""
    decided = await _hold(work.tx, part_id)
    if decided.outcome not in REOPENED:
        raise BankRefusedError(
            Text("Transfer %(part_id)s cannot be reopened: %(outcome)s.", part_id=part_id, outcome=as_text(decided.outcome))
        )
    # Nothing below this line may refuse.
    step = await store.reopen(work.tx, part_id)
    if step is None:
        raise AssertionError("a locked transfer does not change")
    await books.post_reopening(work, part_id, decided, step)
    action_id = await ports.keep(work, context, "transfer_reopened", part_id, None)
    return Decided(part_id, "unmatched", context.operator, context.reason or "", stamp(context.at), action_id)


async def return_payout(
    work: Work, part_id: UUID, payout_id: UUID | None, ports: BankPorts, context: OperatorContext
) -> Decided:
    """Record an unmatched credit as the return of a payout: by default of the one whose ID it has.

    The merchant gets the whole payout back; what the banks kept on the way is a fee. If it is more than the method allows,
    two operators approve it. Raises `BankRefusedError`, and `OperatorRefusedError` by the rules of approvals.
    """
    waiting = await _hold_waiting(work.tx, part_id)
    if waiting.side != "credit":
        raise BankRefusedError("An outgoing transfer is not the return of a payout.")
    wanted = [payout_id] if payout_id is not None else payouts.id_of(waiting.end_to_end_id)
    if not wanted:
        raise BankRefusedError("The transfer has no payout ID. Name the payout that was returned.")
    payout = await payouts.lock_returned(work.tx, wanted[0], (waiting.currency, waiting.amount_minor), context)
    if payout.amount_minor - waiting.amount_minor > payouts.return_fee_max(payout, work.services.catalogue):
        approvals = await decisions.approve_decision(work, Decision("payout_return", part_id, str(payout.id)), context)
        action_id = await ports.keep(work, context, "transfer_return_approved", part_id, None)
        if not approvals.complete:
            return Decided(part_id, "approved", context.operator, context.reason or "", stamp(context.at), action_id)
    placed = await payouts.return_less(work, payout, waiting.amount_minor, ports)
    return await _decide(work, part_id, waiting, placed, ports, context, payout.env)


async def take_back(work: Work, part_id: UUID, reference: str, ports: BankPorts, context: OperatorContext) -> Decided:
    """Charge the merchant of a payment for an unmatched debit: money that the bank took back once more, or more of it.

    What the available balance does not cover becomes debt. Raises `BankRefusedError`.
    """
    waiting = await _hold_waiting(work.tx, part_id)
    if waiting.side != "debit":
        raise BankRefusedError("An incoming transfer does not take a payment back.")
    seen = await _observation(work, waiting, reference, ports, context)
    await ports.charge(work, seen, context)
    return await _decide(work, part_id, waiting, Placed("payment_return", reference=seen.reference), ports, context)


async def _observation(
    work: Work, waiting: Waiting, reference: str, ports: BankPorts, context: OperatorContext
) -> Observation:
    """The transfer as one of the payment with this reference. Raises `BankRefusedError`, also for the operator's own."""
    names = creditor_references(reference)
    if len(names) != 1:
        raise BankRefusedError(
            Text(
                "%(reference)s is not a reference of a payment. Enter RF followed by digits, as shown at checkout.",
                reference=reference,
            )
        )
    [name] = names
    owner = await ports.owner(work.tx, name)
    if owner is None:
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=name))
    await rules.ensure_independent(work.tx, owner, context.reviewer)
    return observe_transfer(
        name,
        waiting,
        identity=waiting.identity,
        nth=waiting.nth,
        currency=waiting.currency,
        booked_on=waiting.booked_on,
    )


async def _hold(tx: Tx, part_id: UUID) -> Waiting:
    waiting = await store.hold_part(tx, part_id)
    if waiting is None:
        raise BankRefusedError(Text("There is no transfer %(part_id)s.", part_id=part_id))
    return waiting


async def _hold_waiting(tx: Tx, part_id: UUID) -> Waiting:
    waiting = await _hold(tx, part_id)
    if waiting.outcome != "unmatched":
        raise BankRefusedError(
            Text("Transfer %(part_id)s is already matched: %(outcome)s.", part_id=part_id, outcome=as_text(waiting.outcome))
        )
    return waiting


async def _decide(
    work: Work,
    part_id: UUID,
    waiting: Waiting,
    placed: Placed,
    ports: BankPorts,
    context: OperatorContext,
    env: MerchantEnv | None = None,
) -> Decided:
    """Record the outcome, post it, and keep the action in the history: of the payout, if it is about one."""
    step = await store.decide(work.tx, part_id, placed, context, context.at)
    if step is None:
        raise AssertionError("a locked transfer does not change")
    await books.post_decision(work, part_id, waiting, step, placed)
    subject_id = placed.payout_id if env is not None and placed.payout_id is not None else part_id
    action_id = await ports.keep(work, context, DECISIONS[placed.outcome], subject_id, env)
    return Decided(part_id, placed.outcome, context.operator, context.reason or "", stamp(context.at), action_id)
