"""SQL that writes statements, entries and transfers."""

import hashlib
from datetime import date, datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank.model import ListedTransfer, Outcome
from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import new_id
from tollhouse.platform.db import Pool, Tx
from tollhouse.rails.bank.statement import Entry, Part, Side, Statement

KEEP_STATEMENT = """
    INSERT INTO bank_statements (id, iban, statement_id, currency, opening_minor, closing_minor, first_on, last_on, entries,
                                 digest, imported_by, imported_at, closing_on)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (digest) DO NOTHING
"""
STATEMENT_OF = "SELECT id FROM bank_statements WHERE digest = $1"
# An entry is inserted once: a concurrent import waits for the first and finds the row.
KEEP_ENTRY = """
    INSERT INTO bank_entries (id, identity, first_statement_id, side, currency, amount_minor, booked_on, is_reversal,
                              batch_reference, bank_reference)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (identity) DO NOTHING
"""
KEEP_PART = """
    INSERT INTO bank_entry_parts (id, entry_id, nth, amount_minor, reference, end_to_end_id, other_name, other_iban, words,
                                  return_reason, sent_at, outcome, payout_id, because)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
# Planned for the outcome: those that operators decide have indexes.
WITH_OUTCOME = """
    SELECT p.id, e.booked_on, e.side, p.amount_minor, e.currency, p.because, p.other_name, p.other_iban, p.words
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.outcome = $1 ORDER BY p.id LIMIT $2 OFFSET $3
"""
HOLD_PART = """
    SELECT e.identity, p.nth, p.amount_minor, p.outcome, e.side, e.currency, e.booked_on, p.sent_at, p.other_iban,
           p.other_name, p.end_to_end_id
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id WHERE p.id = $1 FOR NO KEY UPDATE OF p
"""
DECIDE = """
    UPDATE bank_entry_parts SET outcome = $2, reference = coalesce($3, reference), decided_by = $4, decided_because = $5,
        decided_at = $6, payout_id = coalesce($7, payout_id), decisions = decisions + 1
    WHERE id = $1 AND outcome = 'unmatched'
    RETURNING decisions
"""
REOPEN = """
    UPDATE bank_entry_parts SET outcome = 'unmatched', decided_by = NULL, decided_because = NULL, decided_at = NULL,
        decisions = decisions + 1
    WHERE id = $1 AND outcome IN ('dismissed', 'fee', 'written_off')
    RETURNING decisions
"""


class Placed(Struct, frozen=True):
    """The outcome of a transfer. `reason` says why it is unmatched; `fee_minor` is what a returned payout lacks."""

    outcome: Outcome
    reference: str | None = None
    payout_id: UUID | None = None
    reason: str | None = None
    fee_minor: int = 0


class Waiting(Struct, frozen=True):
    """A transfer, locked until the transaction ends."""

    identity: bytes
    nth: int
    amount_minor: int
    outcome: Outcome
    side: Side
    currency: str
    booked_on: date
    sent_at: datetime | None
    other_iban: str | None
    other_name: str | None
    end_to_end_id: str | None


async def find_statement(tx: Tx, statement: Statement) -> UUID | None:
    """The id of a statement; None if it is not stored."""
    row = await tx.fetchrow(STATEMENT_OF, _digest(statement))
    return None if row is None else row["id"]


async def keep_statement(tx: Tx, statement: Statement, context: OperatorContext) -> tuple[UUID, bool]:
    """Insert a statement unless it is known. Returns its id and whether it is new."""
    days = [entry.booked_on for entry in statement.entries]
    span = (min(days, default=None), max(days, default=None), len(days))
    own_id = new_id()
    kept = (_digest(statement), context.operator, context.at, statement.closing_on)
    if await tx.execute(KEEP_STATEMENT, own_id, *_facts(statement), *span, *kept) == 1:
        return own_id, True
    found = await find_statement(tx, statement)
    if found is None:
        raise AssertionError("statements are never deleted")
    return found, False


async def keep_entry(tx: Tx, entry: Entry, statement_id: UUID) -> UUID | None:
    """Insert a new entry. Returns its id; None if it is known."""
    own_id = new_id()
    what = (entry.side, entry.currency, entry.amount_minor, entry.booked_on, entry.is_reversal)
    names = (entry.batch_id, entry.bank_reference)
    inserted = await tx.execute(KEEP_ENTRY, own_id, entry.identity, statement_id, *what, *names)
    return own_id if inserted == 1 else None


async def keep_part(tx: Tx, part_id: UUID, entry_id: UUID, nth: int, part: Part, placed: Placed) -> None:
    """Insert a transfer of a new entry with its outcome."""
    words = " ".join(filter(None, (part.structured, part.unstructured)))
    whose = (part.end_to_end_id, part.other_name, part.other_iban, words, part.return_reason, part.sent_at)
    result = (placed.outcome, placed.payout_id, placed.reason)
    await tx.execute(KEEP_PART, part_id, entry_id, nth, part.amount_minor, placed.reference, *whose, *result)


async def unmatched(db: Pool, catalogue: Catalogue) -> list[ListedTransfer]:
    """The unmatched transfers, oldest first."""
    return await with_outcome(db, catalogue, "unmatched")


async def with_outcome(
    db: Pool, catalogue: Catalogue, outcome: Outcome, limit: int | None = None, offset: int = 0
) -> list[ListedTransfer]:
    """The transfers with an outcome that operators decide, oldest first."""
    return [
        ListedTransfer(
            row["id"],
            row["booked_on"],
            row["side"],
            catalogue.format_amount(row["amount_minor"], row["currency"]),
            row["currency"],
            row["because"] or "",
            row["other_name"],
            row["other_iban"],
            row["words"],
        )
        for row in await db.fetch_custom_plan(WITH_OUTCOME, outcome, limit, offset)
    ]


async def hold_part(tx: Tx, part_id: UUID) -> Waiting | None:
    """Lock a transfer."""
    row = await tx.fetchrow(HOLD_PART, part_id)
    return None if row is None else Waiting(*row.values())


async def decide(tx: Tx, part_id: UUID, placed: Placed, context: OperatorContext, now: datetime) -> int | None:
    """Set the outcome of an unmatched transfer. Returns how many decisions it has had; None if it is not unmatched."""
    values = (placed.outcome, placed.reference, context.operator, context.reason or "", now, placed.payout_id)
    return await tx.fetchval(DECIDE, part_id, *values)


async def reopen(tx: Tx, part_id: UUID) -> int | None:
    """Make a transfer unmatched again. Returns how many decisions it has had; None if its outcome is final."""
    return await tx.fetchval(REOPEN, part_id)


def _facts(statement: Statement) -> tuple[object, ...]:
    return statement.iban, statement.statement_id, statement.currency, statement.opening_minor, statement.closing_minor


def _digest(statement: Statement) -> bytes:
    """Of all that a statement says: the same statement is stored once."""
    identities = [entry.identity.hex() for entry in statement.entries]
    return hashlib.sha256(msgspec.json.encode([*_facts(statement), identities])).digest()
