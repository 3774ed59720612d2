"""Decisions of operators on unmatched transfers, and payments that are suggested for one.

A decision moves the money in the ledger, from where it waited.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import Action, Decision, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import REFERENCE_DIGITS, creditor_references
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.rails.provider import Observation
from tollhouse.kernel.text import Text, as_text
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bank import accounts, orders_store, payments, payouts, store
from tollhouse.rails.bank.model import Outcome, ShownTransfer
from tollhouse.rails.bank.payments import observe_transfer
from tollhouse.rails.bank.store import Placed, Waiting
from tollhouse.rails.bank.transfers_store import Candidate, FoundTransfer, find_candidates
from tollhouse.rails.batches.actions import record_decision
from tollhouse.rails.batches.model import Decided

DECISIONS: Mapping[Outcome, Action] = {
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
SUGGESTIONS_MAX = 5
MENTION_CHARS_MIN = 4
WRITTEN_MAX = 3
DIGITS = "0123456789"
SIZE = REFERENCE_DIGITS + 2
WRITTEN = re.compile(rf"RF([0-9]{{{SIZE - 1},{SIZE + 1}}})|(?<![0-9])([0-9]{{{SIZE - 1},{SIZE + 1}}})(?![0-9])")
"""After `RF`, other digits may follow; without, the digits stand alone."""
NEAR = "The reference differs by one character."
PAYER = "The same account or name has paid this merchant before."
AMOUNT = "The amount is the same."
MENTIONED = "The remittance information names the payment."
WEIGHTS = {NEAR: 8, PAYER: 4, MENTIONED: 3, AMOUNT: 2}


async def assign(work: Work, part_id: UUID, reference: str, context: OperatorContext) -> Decided:
    """Assign an unmatched transfer to the payment with this reference. Raises `OperatorRefusedError`."""
    waiting = await _lock_unmatched(work.tx, part_id)
    if waiting.side != "credit":
        raise OperatorRefusedError("An outgoing transfer cannot be assigned to a payment.")
    seen = await _observation(work, waiting, reference, context)
    if not await payments.observe(work, seen):
        raise OperatorRefusedError(Text("No payment has the reference %(name)s.", name=seen.reference))
    return await _decide(work, part_id, waiting, Placed("payment", reference=seen.reference), context)


async def dismiss(work: Work, part_id: UUID, context: OperatorContext) -> Decided:
    """Dismiss an unmatched transfer that concerns no merchant, such as a bank fee. Raises `OperatorRefusedError`."""
    waiting = await _lock_unmatched(work.tx, part_id)
    return await _decide(work, part_id, waiting, Placed("dismissed"), context)


async def match(work: Work, part_id: UUID, payout_ids: Sequence[UUID], context: OperatorContext) -> Decided:
    """Match an unmatched debit to prepared payouts whose export is unknown: these, or the one with its ID.

    Raises `OperatorRefusedError` unless they are prepared and add up to the transfer.
    """
    waiting = await _lock_unmatched(work.tx, part_id)
    if waiting.side != "debit":
        raise OperatorRefusedError("Only an outgoing transfer can be matched to a payout.")
    wanted = payout_ids or payouts.id_of(waiting.end_to_end_id)
    if not wanted:
        raise OperatorRefusedError("The transfer has no payout ID. Name the payouts that it paid.")
    await payouts.prepare_accepted(work.tx, context.at)
    try:
        placed = await payouts.match(work, wanted, (waiting.currency, waiting.amount_minor))
    except ApiError as lost:
        raise OperatorRefusedError(as_text(lost.message)) from None
    return await _decide(work, part_id, waiting, placed, context)


async def record_fee(work: Work, part_id: UUID, context: OperatorContext) -> Decided:
    """Record an unmatched transfer as a fee of the bank, or as one that it paid back. Raises `OperatorRefusedError`."""
    waiting = await _lock_unmatched(work.tx, part_id)
    return await _decide(work, part_id, waiting, Placed("fee"), context)


async def write_off(work: Work, part_id: UUID, context: OperatorContext) -> Decided:
    """Write an unmatched transfer off as a difference that nobody can explain. Raises `OperatorRefusedError`."""
    waiting = await _lock_unmatched(work.tx, part_id)
    return await _decide(work, part_id, waiting, Placed("written_off"), context)


async def receive(work: Work, part_id: UUID, source: str | None, context: OperatorContext) -> Decided:
    """Record an unmatched credit as a payout of a card provider: the one with this ID there, or the only one of its amount.

    Raises `OperatorRefusedError`.
    """
    waiting = await _lock_unmatched(work.tx, part_id)
    if waiting.side != "credit":
        raise OperatorRefusedError("An outgoing transfer is not a payout from a card provider.")
    amount = (waiting.currency, waiting.amount_minor)
    expected = await orders_store.list_provider_payouts(work.tx, *amount, source)
    if len(expected) > 1:
        raise OperatorRefusedError("Several payouts of the provider have this amount. Name the one that arrived.")
    for payout in expected:
        await orders_store.lock_provider_payout(work.tx, payout.id)
    if not expected or not await orders_store.list_provider_payouts(work.tx, *amount, expected[0].source):
        raise OperatorRefusedError("No payout of a card provider that has not arrived yet has this amount.")
    return await _decide(work, part_id, waiting, Placed("provider_payout", provider_payout=expected[0]), context)


async def reopen(work: Work, part_id: UUID, context: OperatorContext) -> Decided:
    """Make a transfer unmatched again whose decision concerned no merchant. Raises `OperatorRefusedError`."""
    decided = await _lock(work.tx, part_id)
    if decided.outcome not in REOPENED:
        raise OperatorRefusedError(
            Text("Transfer %(part_id)s cannot be reopened: %(outcome)s.", part_id=part_id, outcome=as_text(decided.outcome))
        )
    # Nothing below this line may refuse.
    step = await store.reopen(work.tx, part_id)
    if step is None:
        raise AssertionError("a locked transfer does not change")
    await accounts.post_reopening(work, part_id, decided, step)
    return await record_decision(work, context, "transfer_reopened", part_id, "unmatched")


async def return_payout(work: Work, part_id: UUID, payout_id: UUID | None, context: OperatorContext) -> Decided:
    """Record an unmatched credit as the return of a payout: by default of the one whose ID it has.

    The merchant gets the whole payout back; what the banks kept on the way is a fee. If it is more than the method allows,
    two operators approve it. Raises `OperatorRefusedError`, also by the rules of approvals.
    """
    waiting = await _lock_unmatched(work.tx, part_id)
    if waiting.side != "credit":
        raise OperatorRefusedError("An outgoing transfer is not the return of a payout.")
    wanted = [payout_id] if payout_id is not None else payouts.id_of(waiting.end_to_end_id)
    if not wanted:
        raise OperatorRefusedError("The transfer has no payout ID. Name the payout that was returned.")
    payout = await payouts.lock_returned(work.tx, wanted[0], (waiting.currency, waiting.amount_minor), context)
    if payout.amount_minor - waiting.amount_minor > payouts.return_fee_max(payout, work.services.catalogue):
        approvals = await rules.approve_decision(work, Decision("payout_return", part_id, str(payout.id)), context)
        approved = await record_decision(work, context, "transfer_return_approved", part_id, "approved")
        if not approvals.complete:
            return approved
    placed = await payouts.return_less(work, payout, waiting.amount_minor)
    return await _decide(work, part_id, waiting, placed, context, payout.env)


async def take_back(work: Work, part_id: UUID, reference: str, context: OperatorContext) -> Decided:
    """Charge the merchant of a payment for an unmatched debit: money that the bank took back once more, or more of it.

    What the available balance does not cover becomes debt. Raises `OperatorRefusedError`.
    """
    waiting = await _lock_unmatched(work.tx, part_id)
    if waiting.side != "debit":
        raise OperatorRefusedError("An incoming transfer does not take a payment back.")
    seen = await _observation(work, waiting, reference, context)
    await payments.charge(work, seen, context)
    return await _decide(work, part_id, waiting, Placed("payment_return", reference=seen.reference), context)


async def _observation(work: Work, waiting: Waiting, reference: str, context: OperatorContext) -> Observation:
    """The transfer as one of the payment with this reference. Raises `OperatorRefusedError`, also for the operator's own."""
    names = creditor_references(reference)
    if len(names) != 1:
        raise OperatorRefusedError(
            Text(
                "%(reference)s is not a reference of a payment. Enter RF followed by digits, as shown at checkout.",
                reference=reference,
            )
        )
    [name] = names
    owner = await payments.owner(work.tx, name)
    if owner is None:
        raise OperatorRefusedError(Text("No payment has the reference %(name)s.", name=name))
    await rules.ensure_independent(work.tx, owner, context.reviewer)
    return observe_transfer(
        name, waiting, identity=waiting.identity, nth=waiting.nth, currency=waiting.currency, booked_on=waiting.booked_on
    )


async def _lock(tx: Tx, part_id: UUID) -> Waiting:
    waiting = await store.lock_part(tx, part_id)
    if waiting is None:
        raise OperatorRefusedError(Text("There is no transfer %(part_id)s.", part_id=part_id))
    return waiting


async def _lock_unmatched(tx: Tx, part_id: UUID) -> Waiting:
    waiting = await _lock(tx, part_id)
    if waiting.outcome != "unmatched":
        raise OperatorRefusedError(
            Text("Transfer %(part_id)s is already matched: %(outcome)s.", part_id=part_id, outcome=as_text(waiting.outcome))
        )
    return waiting


async def _decide(
    work: Work, part_id: UUID, waiting: Waiting, placed: Placed, context: OperatorContext, env: MerchantEnv | None = None
) -> Decided:
    """Record the outcome, post it, and keep the action in the history: of the payout, if it is about one."""
    step = await store.decide(work.tx, part_id, placed, context, context.at)
    if step is None:
        raise AssertionError("a locked transfer does not change")
    await accounts.post_decision(work, part_id, waiting, step, placed)
    history_of = None if env is None else placed.payout_id
    return await record_decision(
        work, context, DECISIONS[placed.outcome], part_id, placed.outcome, env, history_of=history_of
    )


class Suggestion(Struct, frozen=True, kw_only=True):
    """A likely payment, with the reasons, strongest first."""

    payment: Candidate
    amount: str
    created_at: Timestamp
    reasons: list[str]


async def suggest(db: Pool, transfer: ShownTransfer | FoundTransfer, catalogue: Catalogue) -> list[Suggestion]:
    """At most five payments, the most likely first."""
    amount_minor = parse_amount(transfer.amount, catalogue.currencies[transfer.currency].decimals) or 0
    text = f"{transfer.words} {transfer.end_to_end_id or ''}"
    found = await find_candidates(
        db, transfer.currency, amount_minor, near_references(text), transfer.other_iban, transfer.other_name
    )
    suggestions = [
        Suggestion(
            payment=payment,
            amount=catalogue.format_amount(payment.amount_minor, payment.currency),
            created_at=stamp(payment.created_at),
            reasons=sorted(_reasons(payment, transfer, amount_minor), key=lambda reason: -WEIGHTS[reason]),
        )
        for payment in found
    ]
    suggestions.sort(
        key=lambda suggestion: (sum(WEIGHTS[reason] for reason in suggestion.reasons), suggestion.created_at), reverse=True
    )
    return suggestions[:SUGGESTIONS_MAX]


def near_references(text: str) -> set[str]:
    """Every valid reference that is one mistake away from what is written: a wrong, swapped, missing or extra digit."""
    written = "".join(char for char in text.upper() if char.isalnum())
    near: set[str] = set()
    for match in list(WRITTEN.finditer(written))[:WRITTEN_MAX]:
        digits = match[1] or match[2]
        sizes = range(SIZE - 1, len(digits) + 1) if match[1] else (len(digits),)
        near.update(*(_near(digits[:size]) for size in sizes))
    return near


def _near(digits: str) -> set[str]:
    return {found for variant in _variants(digits) for found in creditor_references(f"RF{variant}")}


def _variants(digits: str) -> Iterator[str]:
    """What was meant, if one digit is wrong, swapped with the next, missing or too many."""
    if len(digits) == SIZE:
        for at in range(SIZE):
            yield from (digits[:at] + other + digits[at + 1 :] for other in DIGITS)
        yield from (digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :] for at in range(SIZE - 1))
    elif len(digits) < SIZE:
        yield from (digits[:at] + other + digits[at:] for at in range(SIZE) for other in DIGITS)
    else:
        yield from (digits[:at] + digits[at + 1 :] for at in range(SIZE + 1))


def _reasons(payment: Candidate, transfer: ShownTransfer | FoundTransfer, amount_minor: int) -> Iterator[str]:
    if payment.is_near:
        yield NEAR
    if payment.has_payer_before:
        yield PAYER
    if (payment.currency, payment.amount_minor) == (transfer.currency, amount_minor):
        yield AMOUNT
    names = (
        name.casefold() for name in (payment.external_id, payment.display_name) if name and len(name) >= MENTION_CHARS_MIN
    )
    if any(name in transfer.words.casefold() for name in names):
        yield MENTIONED
