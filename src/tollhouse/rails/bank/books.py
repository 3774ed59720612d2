"""Postings of statements: between the bank account, money in transit, and transfers that nobody has matched yet.

Payments, refunds and withdrawals post between merchants and `rail:bank`, which is the money in transit. A matched transfer
clears it against the bank account; an unmatched one waits in `unmatched:bank` until an operator decides.
"""

from collections.abc import Sequence
from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.ledger.books.model import (
    Account,
    BankPosting,
    JournalEntry,
    Posting,
    Source,
    bank_account,
    equity,
    expense,
    rail,
    transit,
    unmatched,
)
from tollhouse.ledger.books.post import post, post_platform
from tollhouse.rails.bank.files.statement import Side
from tollhouse.rails.bank.files.transfer import NAME
from tollhouse.rails.bank.model import Outcome
from tollhouse.rails.bank.store import NewEntry, Placed, Waiting

ENTRY, TRANSFER, STATEMENT = "bank_entry", "bank_transfer", "bank_statement"
IN_TRANSIT, UNMATCHED, DISMISSED, OPENING = rail(NAME), unmatched(NAME), equity("dismissed"), equity("bank_opening")
FEE, DIFFERENCE = expense("bank_fee"), expense("bank_difference")
DECISIONS: dict[Outcome, tuple[BankPosting, Account]] = {
    "payment": ("bank_assignment", IN_TRANSIT),
    "payment_return": ("bank_assignment", IN_TRANSIT),
    "payout": ("bank_assignment", IN_TRANSIT),
    "payout_return": ("bank_assignment", IN_TRANSIT),
    "dismissed": ("bank_dismissal", DISMISSED),
    "fee": ("bank_fee", FEE),
    "written_off": ("bank_write_off", DIFFERENCE),
}
"""How a decision on a transfer is posted, and where its money goes."""


async def post_entries(work: Work, new: Sequence[NewEntry], iban: str) -> None:
    """Post new entries of an account: their matched transfers clear what is in transit, the others wait."""
    await post_platform(work, [_journal_entry(one, bank_account(iban)) for one in new])


async def post_opening(work: Work, iban: str, currency: str, amount_minor: int, statement_id: UUID) -> None:
    """Post the balance with which the books of an account begin, or what it changes by when they begin earlier."""
    if amount_minor == 0:
        return
    side: Side = "credit" if amount_minor > 0 else "debit"
    posting = _posting("bank_opening", side, currency, abs(amount_minor), bank_account(iban), OPENING)
    await post(work, JournalEntry("live", "bank_opening", Source(STATEMENT, statement_id), (posting,)))


async def post_decision(work: Work, part_id: UUID, waiting: Waiting, step: int, placed: Placed) -> None:
    """Move the money of an unmatched transfer to where the decision puts it. `step` numbers its decisions from 1.

    What a returned payout lacks was kept by the banks on its way.
    """
    provider = None if placed.provider_payout is None else placed.provider_payout.rail
    kind, target = _decision(placed.outcome, provider)
    postings = (_posting(kind, waiting.side, waiting.currency, waiting.amount_minor, UNMATCHED, target),)
    if placed.fee_minor:
        postings += (Posting("bank_return_fee", waiting.currency, placed.fee_minor, FEE, IN_TRANSIT),)
    await post(work, JournalEntry("live", kind, Source(TRANSFER, part_id, step), postings))


async def post_reopening(work: Work, part_id: UUID, decided: Waiting, step: int) -> None:
    """Undo the posting of a decision: the transfer is unmatched again."""
    _, target = _decision(decided.outcome, decided.provider)
    posting = _posting("bank_reopening", decided.side, decided.currency, decided.amount_minor, target, UNMATCHED)
    await post(work, JournalEntry("live", "bank_reopening", Source(TRANSFER, part_id, step), (posting,)))


def _decision(outcome: Outcome, provider: str | None) -> tuple[BankPosting, Account]:
    """What a decision posts, and where its money goes: to what the card provider has paid out, if it brings that."""
    return DECISIONS[outcome] if provider is None else ("bank_assignment", transit(provider))


def _journal_entry(new: NewEntry, account: Account) -> JournalEntry:
    entry = new.entry
    matched_minor = sum(
        part.amount_minor for part, one in zip(entry.parts, new.placed, strict=True) if one.outcome != "unmatched"
    )
    postings = tuple(
        _posting("bank_entry", entry.side, entry.currency, amount_minor, account, other)
        for amount_minor, other in ((matched_minor, IN_TRANSIT), (entry.amount_minor - matched_minor, UNMATCHED))
        if amount_minor
    )
    return JournalEntry("live", "bank_entry", Source(ENTRY, new.id), postings)


def _posting(kind: BankPosting, side: Side, currency: str, amount_minor: int, ours: Account, other: Account) -> Posting:
    """A credit of the bank is debited to our account, as the bank's books are the mirror of ours."""
    debit, credit = (ours, other) if side == "credit" else (other, ours)
    return Posting(kind, currency, amount_minor, debit, credit)
