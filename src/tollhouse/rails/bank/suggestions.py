"""Suggests payments for an unmatched transfer: by mistyped references, amounts and earlier payers. Nothing is assigned."""

import re
from collections.abc import Iterator

from msgspec import Struct

from tollhouse.kernel.bank_codes import REFERENCE_DIGITS, creditor_references
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.money import parse_amount
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.bank.model import ShownTransfer
from tollhouse.rails.bank.suggestions_store import Candidate, find_candidates
from tollhouse.rails.bank.transfers_store import FoundTransfer

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
            payment=one,
            amount=catalogue.format_amount(one.amount_minor, one.currency),
            created_at=stamp(one.created_at),
            reasons=sorted(_reasons(one, transfer, amount_minor), key=lambda reason: -WEIGHTS[reason]),
        )
        for one in found
    ]
    suggestions.sort(key=lambda one: (sum(WEIGHTS[reason] for reason in one.reasons), one.created_at), reverse=True)
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
    return {found for one in _variants(digits) for found in creditor_references(f"RF{one}")}


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


def _reasons(one: Candidate, transfer: ShownTransfer | FoundTransfer, amount_minor: int) -> Iterator[str]:
    if one.is_near:
        yield NEAR
    if one.has_payer_before:
        yield PAYER
    if (one.currency, one.amount_minor) == (transfer.currency, amount_minor):
        yield AMOUNT
    names = (name.casefold() for name in (one.external_id, one.display_name) if name and len(name) >= MENTION_CHARS_MIN)
    if any(name in transfer.words.casefold() for name in names):
        yield MENTIONED
