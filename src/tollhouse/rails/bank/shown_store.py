"""SQL that reads statements and transfers for the operators' pages."""

from uuid import UUID

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.rails.bank.files.batch import id_in
from tollhouse.rails.bank.model import ListedStatement, ShownStatement, ShownTransfer

STATEMENTS = """
    SELECT s.id, s.statement_id, s.iban, s.first_on, s.last_on, s.entries, seen.new_entries, seen.unmatched,
           s.imported_by, s.imported_at
    FROM (SELECT id, statement_id, iban, first_on, last_on, entries, imported_by, imported_at
          FROM bank_statements ORDER BY imported_at DESC, id DESC LIMIT $1 OFFSET $2) s
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE p.nth = 0) AS new_entries,
               count(*) FILTER (WHERE p.outcome = 'unmatched') AS unmatched
        FROM bank_entries e JOIN bank_entry_parts p ON p.entry_id = e.id WHERE e.first_statement_id = s.id
    ) seen
    ORDER BY s.imported_at DESC, s.id DESC
"""
STATEMENT = """
    SELECT s.id, s.statement_id, s.iban, s.first_on, s.last_on, s.entries, seen.new_entries, seen.unmatched,
           s.imported_by, s.imported_at, s.currency, s.opening_minor, s.closing_minor
    FROM bank_statements s
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE p.nth = 0) AS new_entries,
               count(*) FILTER (WHERE p.outcome = 'unmatched') AS unmatched
        FROM bank_entries e JOIN bank_entry_parts p ON p.entry_id = e.id WHERE e.first_statement_id = s.id
    ) seen
    WHERE s.id = $1
"""
TRANSFER_COLUMNS = """
           p.id, e.first_statement_id, e.booked_on, e.side, e.currency, e.is_reversal, e.bank_reference, e.batch_reference,
           p.amount_minor, p.other_name, p.other_iban, p.words, p.end_to_end_id, p.return_reason, p.outcome, p.reference,
           p.payout_id, p.because, p.decided_by, p.decided_because, p.decided_at
"""
TRANSFERS_OF_STATEMENT = f"""
    SELECT {TRANSFER_COLUMNS} FROM bank_entries e JOIN bank_entry_parts p ON p.entry_id = e.id
    WHERE e.first_statement_id = $1 ORDER BY e.id, p.nth LIMIT $2 OFFSET $3
"""
TRANSFER = f"""
    SELECT {TRANSFER_COLUMNS} FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.id = $1
"""


async def statements(db: Pool, limit: int | None = None, offset: int = 0) -> list[ListedStatement]:
    """The statements, newest first."""
    return [_statement(row) for row in await db.fetch(STATEMENTS, limit, offset)]


async def statement(db: Pool, statement_id: UUID, catalogue: Catalogue) -> ShownStatement | None:
    """One statement."""
    row = await db.fetchrow(STATEMENT, statement_id)
    if row is None:
        return None
    opening, closing = (
        _balance(row["opening_minor"], row["currency"], catalogue),
        _balance(row["closing_minor"], row["currency"], catalogue),
    )
    return ShownStatement(_statement(row), row["currency"], opening, closing)


async def transfers_of(db: Pool, statement_id: UUID, limit: int, offset: int, catalogue: Catalogue) -> list[ShownTransfer]:
    """The transfers of a statement's new entries, in order of import."""
    return [_transfer(row, catalogue) for row in await db.fetch(TRANSFERS_OF_STATEMENT, statement_id, limit, offset)]


async def transfer(db: Pool, transfer_id: UUID, catalogue: Catalogue) -> ShownTransfer | None:
    """One transfer."""
    row = await db.fetchrow(TRANSFER, transfer_id)
    return None if row is None else _transfer(row, catalogue)


def _statement(row: Row) -> ListedStatement:
    return ListedStatement(
        row["id"],
        row["statement_id"],
        row["iban"],
        row["first_on"],
        row["last_on"],
        row["entries"],
        row["new_entries"],
        row["unmatched"],
        row["imported_by"],
        stamp(row["imported_at"]),
    )


def _balance(minor: int | None, currency: str | None, catalogue: Catalogue) -> str | None:
    known = catalogue.currencies.get(currency or "")
    return None if minor is None or known is None else known.format(minor)


def _transfer(row: Row, catalogue: Catalogue) -> ShownTransfer:
    is_batch = row["outcome"] == "payout" and row["payout_id"] is None
    return ShownTransfer(
        id=row["id"],
        statement_id=row["first_statement_id"],
        booked_on=row["booked_on"],
        side=row["side"],
        amount=catalogue.format_amount(row["amount_minor"], row["currency"]),
        amount_minor=row["amount_minor"],
        currency=row["currency"],
        is_return=row["is_reversal"] or row["return_reason"] is not None,
        other_name=row["other_name"],
        other_iban=row["other_iban"],
        words=row["words"],
        end_to_end_id=row["end_to_end_id"],
        bank_reference=row["bank_reference"],
        return_reason=row["return_reason"],
        outcome=row["outcome"],
        reference=row["reference"],
        payout_id=row["payout_id"],
        batch_id=id_in(row["batch_reference"]) if is_batch else None,
        reason=row["because"],
        decided_by=row["decided_by"],
        decided_reason=row["decided_because"],
        decided_at=stamp_or_none(row["decided_at"]),
    )
