"""SQL of what banks send besides statements: announced transfers, and reports about payment files."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bank.files.statement import Entry
from tollhouse.rails.bank.files.status_report import StatusReport
from tollhouse.rails.bank.model import Announcement, ListedReport

ANNOUNCE = """
    INSERT INTO bank_announcements (identity, nth, iban, side, currency, amount_minor, booked_on, other_name, other_iban,
                                    words, announced_at)
    SELECT identity, nth, $1, side, currency, amount_minor, booked_on, other_name, other_iban, words, $2
    FROM unnest($3::bytea[], $4::int[], $5::text[], $6::text[], $7::bigint[], $8::date[], $9::text[], $10::text[],
                $11::text[])
        AS new (identity, nth, side, currency, amount_minor, booked_on, other_name, other_iban, words)
    ON CONFLICT (identity, nth) DO NOTHING
"""
# Those that are on no statement yet.
ANNOUNCED = """
    SELECT a.side, a.currency, a.amount_minor, a.booked_on, a.other_name, a.other_iban, a.words, a.announced_at
    FROM bank_announcements a
    WHERE a.announced_at >= $1 AND NOT EXISTS (SELECT FROM bank_entries e WHERE e.identity = a.identity)
    ORDER BY a.announced_at DESC, a.identity, a.nth LIMIT $2
"""
DELETE_OLD_ANNOUNCEMENTS = """
    DELETE FROM bank_announcements WHERE (identity, nth) IN (
        SELECT identity, nth FROM bank_announcements WHERE announced_at <= $1 ORDER BY announced_at LIMIT $2
        FOR UPDATE SKIP LOCKED)
"""
INSERT_REPORT = """
    INSERT INTO bank_reports (id, batch_id, message_id, status, rejected, unchanged, reason, imported_by, imported_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
REPORTS = """
    SELECT message_id, status, rejected, unchanged, reason, imported_by, imported_at
    FROM bank_reports WHERE batch_id = $1 ORDER BY id DESC LIMIT $2
"""


async def announce(tx: Tx, iban: str, entries: Sequence[Entry], now: datetime) -> int:
    """Insert the transfers of announced entries unless they are known. Returns how many are new."""
    parts = [
        (entry.identity, nth, entry.side, entry.currency, part.amount_minor, entry.booked_on, part.other_name,
         part.other_iban, " ".join(filter(None, (part.structured, part.unstructured))))
        for entry in entries
        for nth, part in enumerate(entry.parts)
    ]  # fmt: skip
    return await tx.execute(ANNOUNCE, iban, now, *zip(*parts, strict=True)) if parts else 0


async def list_announced(db: Pool, since: datetime, limit: int, catalogue: Catalogue) -> list[Announcement]:
    """Transfers that were announced since then and are on no statement, newest first."""
    return [
        Announcement(
            row["side"],
            catalogue.format_amount(row["amount_minor"], row["currency"]),
            row["currency"],
            row["booked_on"],
            row["other_name"],
            row["other_iban"],
            row["words"],
            stamp(row["announced_at"]),
        )
        for row in await db.fetch(ANNOUNCED, since, limit)
    ]


async def delete_announced_before(db: Pool, until: datetime) -> None:
    """Delete transfers that were announced until then."""
    await delete_in_batches(db, DELETE_OLD_ANNOUNCEMENTS, until)


async def insert_report(
    tx: Tx, batch_id: UUID, report: StatusReport, counts: tuple[int, int], context: OperatorContext
) -> None:
    """Insert a report. `counts`: the payouts that it has ended, and its rejections that have ended nothing."""
    reason = report.rejected[0].reason.text if report.rejected else None
    values = (report.message_id, report.status, *counts, reason, context.operator, context.at)
    await tx.execute(INSERT_REPORT, new_id(), batch_id, *values)


async def list_reports(db: Pool, batch_id: UUID, limit: int) -> list[ListedReport]:
    """The newest reports about a batch, newest first."""
    return [
        ListedReport(
            row["message_id"],
            row["status"],
            row["rejected"],
            row["unchanged"],
            row["reason"],
            row["imported_by"],
            stamp(row["imported_at"]),
        )
        for row in await db.fetch(REPORTS, batch_id, limit)
    ]
