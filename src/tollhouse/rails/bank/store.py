"""SQL that writes statements, entries and transfers."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bank.files.statement import Entry, Part, Side, Statement
from tollhouse.rails.bank.model import ListedTransfer, Outcome
from tollhouse.rails.bank.orders_store import ProviderPayout
from tollhouse.rails.batches.store import list_shown

KEEP_STATEMENT = """
    INSERT INTO bank_statements (id, iban, statement_id, currency, opening_minor, closing_minor, first_on, last_on, entries,
                                 digest, imported_by, imported_at, closing_on)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (digest) DO NOTHING
"""
STATEMENT_OF = "SELECT id FROM bank_statements WHERE digest = $1"
INSERT_ENTRIES = """
    INSERT INTO bank_entries (id, identity, first_statement_id, side, currency, amount_minor, booked_on, is_reversal,
                              batch_reference, bank_reference)
    SELECT id, identity, $1, side, currency, amount_minor, booked_on, is_reversal, batch_reference, bank_reference
    FROM unnest($2::uuid[], $3::bytea[], $4::text[], $5::text[], $6::bigint[], $7::date[], $8::boolean[], $9::text[],
                $10::text[])
        AS new (id, identity, side, currency, amount_minor, booked_on, is_reversal, batch_reference, bank_reference)
"""
INSERT_PARTS = """
    INSERT INTO bank_entry_parts (id, entry_id, nth, amount_minor, reference, end_to_end_id, other_name, other_iban, words,
                                  return_reason, sent_at, outcome, payout_id, because, other_bic, other_address)
    SELECT id, entry_id, nth, amount_minor, reference, end_to_end_id, other_name, other_iban, words, return_reason, sent_at,
           outcome, payout_id, because, other_bic, other_address
    FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                $10::text[], $11::timestamptz[], $12::text[], $13::uuid[], $14::text[], $15::text[], $16::jsonb[])
        AS new (id, entry_id, nth, amount_minor, reference, end_to_end_id, other_name, other_iban, words, return_reason,
                sent_at, outcome, payout_id, because, other_bic, other_address)
"""
# Entries of the same day with the same reference of the bank.
SAME_REFERENCE = """
    SELECT DISTINCT e.bank_reference, e.booked_on, e.currency, e.side, e.amount_minor, e.is_reversal
    FROM bank_entries e JOIN bank_statements s ON s.id = e.first_statement_id AND s.iban = $1
    JOIN unnest($2::text[], $3::date[]) AS wanted (bank_reference, booked_on) USING (bank_reference, booked_on)
"""
UNMATCHED = """
    SELECT p.id, e.booked_on, e.side, p.amount_minor, e.currency, coalesce(p.because, '') AS reason, p.other_name,
           p.other_iban, p.words
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.outcome = 'unmatched' ORDER BY p.id
"""
LOCK_PART = """
    SELECT e.identity, p.nth, p.amount_minor, p.outcome, e.side, e.currency, e.booked_on, p.sent_at, p.other_iban,
           p.other_name, p.end_to_end_id, b.rail AS provider
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    LEFT JOIN provider_balance_transactions b ON b.id = p.provider_payout_id
    WHERE p.id = $1 FOR NO KEY UPDATE OF p
"""
DECIDE = """
    UPDATE bank_entry_parts SET outcome = $2, reference = coalesce($3, reference), decided_by = $4, decided_because = $5,
        decided_at = $6, payout_id = coalesce($7, payout_id), provider_payout_id = $8, return_fee_max_minor = $9,
        decisions = decisions + 1
    WHERE id = $1 AND outcome = 'unmatched'
    RETURNING decisions
"""
REOPEN = """
    UPDATE bank_entry_parts SET outcome = 'unmatched', decided_by = NULL, decided_because = NULL, decided_at = NULL,
        provider_payout_id = NULL, decisions = decisions + 1
    WHERE id = $1 AND outcome IN ('dismissed', 'fee', 'written_off', 'provider_payout')
    RETURNING decisions
"""


class Placed(Struct, frozen=True):
    """The outcome of a transfer. `reason` says why it is unmatched; `fee_minor` is what a returned payout lacks.

    `fee_max_minor`: more than that needs two operators. `provider_payout` is the payout of a card provider that it brings.
    """

    outcome: Outcome
    reference: str | None = None
    payout_id: UUID | None = None
    reason: str | None = None
    fee_minor: int = 0
    fee_max_minor: int | None = None
    provider_payout: ProviderPayout | None = None


class NewEntry(Struct, frozen=True):
    """An entry to insert, with the outcomes of its transfers in their order."""

    id: UUID
    entry: Entry
    placed: tuple[Placed, ...]


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
    provider: str | None
    """The rail of the card provider whose payout it brings."""


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


async def insert_entries(tx: Tx, new: Sequence[NewEntry], statement_id: UUID) -> None:
    """Insert new entries and their transfers."""
    if not new:
        return
    entries = [_entry_values(entry) for entry in new]
    parts = [
        _part_values(entry.id, nth, part, placed)
        for entry in new
        for nth, (part, placed) in enumerate(zip(entry.entry.parts, entry.placed, strict=True))
    ]
    await tx.execute(INSERT_ENTRIES, statement_id, *zip(*entries, strict=True))
    await tx.execute(INSERT_PARTS, *zip(*parts, strict=True))


async def find_doubtful(tx: Tx, iban: str, entries: Sequence[Entry]) -> set[bytes]:
    """The identities of those of these entries whose reference another one of the day has, stored or before them.

    Entries of equal facts are no such case: they are one, or the balances of their statement prove that they are several.
    """
    named = [entry for entry in entries if entry.bank_reference is not None]
    if not named:
        return set()
    rows = await tx.fetch(
        SAME_REFERENCE, iban, [entry.bank_reference for entry in named], [entry.booked_on for entry in named]
    )
    seen = defaultdict[tuple[str, str | None, date], set[tuple[str, int, bool]]](set)
    for row in rows:
        facts = (row["side"], row["amount_minor"], row["is_reversal"])
        seen[row["currency"], row["bank_reference"], row["booked_on"]].add(facts)
    doubtful = set[bytes]()
    for entry in named:
        facts, others = (
            (entry.side, entry.amount_minor, entry.is_reversal),
            seen[entry.currency, entry.bank_reference, entry.booked_on],
        )
        if others - {facts}:
            doubtful.add(entry.identity)
        others.add(facts)
    return doubtful


async def unmatched(db: Pool, catalogue: Catalogue) -> list[ListedTransfer]:
    """The unmatched transfers, oldest first."""
    return await list_shown(db, ListedTransfer, catalogue, UNMATCHED)


async def lock_part(tx: Tx, part_id: UUID) -> Waiting | None:
    """Lock a transfer."""
    row = await tx.fetchrow(LOCK_PART, part_id)
    return None if row is None else Waiting(*row.values())


async def decide(tx: Tx, part_id: UUID, placed: Placed, context: OperatorContext, now: datetime) -> int | None:
    """Set the outcome of an unmatched transfer. Returns how many decisions it has had; None if it is not unmatched."""
    values = (placed.outcome, placed.reference, context.operator, context.reason or "", now, placed.payout_id)
    provider_payout_id = None if placed.provider_payout is None else placed.provider_payout.id
    return await tx.fetchval(DECIDE, part_id, *values, provider_payout_id, placed.fee_max_minor)


async def reopen(tx: Tx, part_id: UUID) -> int | None:
    """Make a transfer unmatched again. Returns how many decisions it has had; None if its outcome is final."""
    return await tx.fetchval(REOPEN, part_id)


def _entry_values(new: NewEntry) -> tuple[object, ...]:
    entry = new.entry
    what = (entry.side, entry.currency, entry.amount_minor, entry.booked_on, entry.is_reversal)
    return (new.id, entry.identity, *what, entry.batch_id, entry.bank_reference)


def _part_values(entry_id: UUID, nth: int, part: Part, placed: Placed) -> tuple[object, ...]:
    words = " ".join(filter(None, (part.structured, part.unstructured)))
    whose = (part.end_to_end_id, part.other_name, part.other_iban, words, part.return_reason, part.sent_at)
    result = (placed.outcome, placed.payout_id, placed.reason)
    address = None if part.other_address is None else msgspec.json.encode(part.other_address).decode()
    return (new_id(), entry_id, nth, part.amount_minor, placed.reference, *whose, *result, part.other_bic, address)


def _facts(statement: Statement) -> tuple[object, ...]:
    return statement.iban, statement.statement_id, statement.currency, statement.opening_minor, statement.closing_minor


def _digest(statement: Statement) -> bytes:
    """Of all that a statement says: the same statement is stored once."""
    identities = [entry.identity.hex() for entry in statement.entries]
    return hashlib.sha256(msgspec.json.encode([*_facts(statement), identities])).digest()
