"""SQL of files of the bank: imports with what was read from them, announced transfers, and reports about payment files."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Struct, structs

from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text, Translatable, dump_text, load_text
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.database.records import Columns, Record
from tollhouse.rails.bank.files.statement import Entry, ImportKind, Statement, StatusReport
from tollhouse.rails.bank.model import Announcement, Imported, ListedReport
from tollhouse.rails.batches.store import list_shown, read_shown

ImportState = Literal["uploaded", "unconfirmed", "importing", "imported", "refused", "stopped"]


class FileImport(Struct, frozen=True, kw_only=True):
    """An import of a file, whose `kind` is known once it was read. `reason` says why it was refused, or why it stopped.

    An unconfirmed one waits for operators. It was uploaded `on_command_line` if no operator did it on the pages.

    `statement` is the position of the one that is being imported, `statement_id` its id once that has begun, and
    `next_entry` the place from which on its entries are not imported. `entries` is 0 until the file was read and checked.
    """

    id: UUID
    size_bytes: int
    status: ImportState
    kind: ImportKind | None
    reason: Annotated[Translatable | None, Columns({"because": ""}, load_text)]
    entries: int
    statement: int
    statement_id: UUID | None
    next_entry: int
    imported: Annotated[
        Imported,
        Columns(
            {
                "statements": "statements",
                "new_entries": "new_entries",
                "known_entries": "known_entries",
                "matched": "placed",
                "unmatched": "unmatched",
            }
        ),
    ]
    uploaded_by: str
    uploaded_at: datetime
    on_command_line: bool
    confirmed_at: datetime | None

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in {"uploaded", "importing"}

    @property
    def counts(self) -> dict[str, str | int]:
        """What came of it, for programs."""
        counts = self.imported
        if self.kind == "notification":
            return {"kind": self.kind, "announced": counts.new_entries, "announced_before": counts.known_entries}
        if self.kind == "report":
            return {"kind": self.kind, "rejected": counts.placed, "unchanged": counts.unmatched}
        return structs.asdict(counts)

    @property
    def words(self) -> Translatable:
        """What came of it, as a message for the operator."""
        counts = self.imported
        if self.kind == "notification":
            return Text(
                "Announced transfers: %(new)s. Announced before: %(known)s. Balances change when a statement shows them.",
                new=counts.new_entries,
                known=counts.known_entries,
            )
        if self.kind == "report":
            return Text(
                "Payouts that the bank rejected: %(rejected)s. Rejections without effect: %(unchanged)s.",
                rejected=counts.placed,
                unchanged=counts.unmatched,
            )
        return counts.words

    @property
    def done(self) -> int:
        """How many of its entries are imported, now or before."""
        return self.imported.new_entries + self.imported.known_entries


LOCK_KEY = 0x62616E6B  # "bank"

INSERT = "INSERT INTO bank_imports (id, size_bytes, uploaded_by, uploaded_at, on_command_line) VALUES ($1, $2, $3, $4, $5)"
INSERT_PIECE = "INSERT INTO bank_import_pieces (import_id, nth, content) VALUES ($1, $2, $3)"
PIECE = "SELECT content FROM bank_import_pieces WHERE import_id = $1 AND nth = $2"
# One that was begun comes first: an upload that took longer can have an older id and be visible only now.
NEXT = "SELECT id FROM bank_imports WHERE ended_at IS NULL ORDER BY status = 'uploaded', id LIMIT 1"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1)"
IMPORT = Record(FileImport, "bank_imports")
GET = f"SELECT {IMPORT.columns} FROM bank_imports WHERE id = $1"
ACTIVE = f"SELECT {IMPORT.columns} FROM bank_imports WHERE ended_at IS NULL ORDER BY id LIMIT $1"
LOCK = f"SELECT {IMPORT.columns} FROM bank_imports WHERE id = $1 AND ended_at IS NULL FOR NO KEY UPDATE"
INSERT_ENTRIES = """
    INSERT INTO bank_import_entries (import_id, statement, place, content)
    SELECT $1, statement, place, content
    FROM unnest($2::int[], $3::bigint[], $4::bytea[]) AS read (statement, place, content)
"""
INSERT_STATEMENT = """
    INSERT INTO bank_import_statements (import_id, position, number, iban, currency, name, content)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
CHECKED = "UPDATE bank_imports SET status = 'importing', kind = 'statement', entries = $2 WHERE id = $1"
SET_KIND = "UPDATE bank_imports SET kind = $2, entries = $3 WHERE id = $1"
STATEMENT = """
    SELECT number, iban, currency, name FROM bank_import_statements WHERE import_id = $1 AND position = $2
"""
CONTENT = "SELECT content FROM bank_import_statements WHERE import_id = $1 AND position = $2"
ENTRIES = """
    SELECT place, content FROM bank_import_entries
    WHERE import_id = $1 AND statement = $2 AND place >= $3 ORDER BY place LIMIT $4
"""
ADVANCE = """
    UPDATE bank_imports SET statement = $2, statement_id = $3, next_entry = $4, statements = statements + $5,
        new_entries = new_entries + $6, known_entries = known_entries + $7, matched = matched + $8,
        unmatched = unmatched + $9
    WHERE id = $1
"""
END = "UPDATE bank_imports SET status = $2, because = $3, ended_at = $4 WHERE id = $1 AND ended_at IS NULL"
SET_ASIDE = "UPDATE bank_imports SET status = 'unconfirmed', because = $2, ended_at = $3 WHERE id = $1"
LOCK_UNCONFIRMED = "SELECT id FROM bank_imports WHERE id = $1 AND status = 'unconfirmed' FOR NO KEY UPDATE"
CONFIRM = """
    UPDATE bank_imports SET status = 'uploaded', because = NULL, ended_at = NULL, confirmed_at = $2
    WHERE id = $1 AND status = 'unconfirmed'
"""
DELETE_SOME_ENTRIES = """
    DELETE FROM bank_import_entries e USING unnest($2::int[], $3::bigint[]) AS gone (statement, place)
    WHERE e.import_id = $1 AND e.statement = gone.statement AND e.place = gone.place
"""
UNCONFIRMED = f"SELECT {IMPORT.columns} FROM bank_imports WHERE status = 'unconfirmed' ORDER BY id LIMIT $1"
DELETE_PIECES = "DELETE FROM bank_import_pieces WHERE import_id = $1"
DELETE_STATEMENTS = "DELETE FROM bank_import_statements WHERE import_id = $1"
DELETE_ENTRIES = "DELETE FROM bank_import_entries WHERE import_id = $1"
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


class QueuedStatement(Struct, frozen=True):
    """A statement of a file: its number there, its account, and the bank's ID."""

    number: int
    iban: str
    currency: str | None
    name: str


class Step(Struct, frozen=True, kw_only=True):
    """How far an import has got after a transaction, and what this one has done."""

    statement: int
    statement_id: UUID | None
    next_entry: int
    statements: int = 0
    new_entries: int = 0
    known_entries: int = 0
    matched: int = 0
    unmatched: int = 0


async def insert(tx: Tx, import_id: UUID, size_bytes: int, context: OperatorContext) -> None:
    """Insert an import."""
    await tx.execute(INSERT, import_id, size_bytes, context.operator, context.at, context.on_command_line)


async def insert_piece(tx: Tx, import_id: UUID, nth: int, piece: memoryview) -> None:
    """Store a piece of its file."""
    await tx.execute(INSERT_PIECE, import_id, nth, piece)


async def piece(tx: Tx, import_id: UUID, nth: int) -> bytes | None:
    """A piece of its file; None after the last one."""
    return await tx.fetchval(PIECE, import_id, nth)


async def next_id(db: Pool | Tx) -> UUID | None:
    """The import whose turn it is; None if all have ended."""
    row = await db.fetchrow(NEXT)
    return None if row is None else row["id"]


async def get(db: Pool, import_id: UUID) -> FileImport | None:
    """An import."""
    return await IMPORT.find(db, GET, import_id)


async def active(db: Pool, limit: int) -> list[FileImport]:
    """Imports that have not ended, in their order."""
    return await IMPORT.find_all(db, ACTIVE, limit)


async def lock(tx: Tx, import_id: UUID) -> FileImport | None:
    """Lock an import, and all others until the transaction ends. None if it is not its turn, or somebody takes a step."""
    if not await tx.fetchval(TRY_LOCK, LOCK_KEY) or await next_id(tx) != import_id:
        return None
    return await IMPORT.find(tx, LOCK, import_id)


async def insert_entries(
    tx: Tx, import_id: UUID, numbers: Sequence[int], places: Sequence[int], contents: Sequence[bytes]
) -> None:
    """Store entries that were read, with the numbers of their statements and their places there."""
    await tx.execute(INSERT_ENTRIES, import_id, numbers, places, contents)


async def insert_statement(tx: Tx, import_id: UUID, position: int, number: int, statement: Statement) -> None:
    """Store a statement that was read: its position in the order of import, and its number in the file."""
    content = msgspec.msgpack.encode(statement)
    names = (statement.iban, statement.currency, statement.statement_id)
    await tx.execute(INSERT_STATEMENT, import_id, position, number, *names, content)


async def start(tx: Tx, import_id: UUID, entries: int) -> None:
    """Record that the file was read and checked. It is not needed any more."""
    await tx.execute(CHECKED, import_id, entries)
    await tx.execute(DELETE_PIECES, import_id)


async def set_kind(tx: Tx, import_id: UUID, kind: ImportKind, entries: int) -> None:
    """Record what a file is that has no statements, and how many entries it has."""
    await tx.execute(SET_KIND, import_id, kind, entries)


async def queued_statement(tx: Tx, import_id: UUID, position: int) -> QueuedStatement | None:
    """The statement at this position; None after the last one."""
    row = await tx.fetchrow(STATEMENT, import_id, position)
    return None if row is None else QueuedStatement(*row.values())


async def content(tx: Tx, import_id: UUID, position: int) -> Statement:
    """All that this statement says, but for the transfers of its entries."""
    return msgspec.msgpack.decode(await tx.fetchval(CONTENT, import_id, position), type=Statement)


async def entries(tx: Tx, import_id: UUID, number: int, from_place: int, limit: int) -> list[tuple[int, Entry]]:
    """The next entries of the statement with this number, by their places."""
    rows = await tx.fetch(ENTRIES, import_id, number, from_place, limit)
    return [(row["place"], msgspec.msgpack.decode(row["content"], type=Entry)) for row in rows]


async def advance(tx: Tx, import_id: UUID, step: Step) -> None:
    """Record a step of a locked import."""
    await tx.execute(ADVANCE, import_id, *msgspec.structs.astuple(step))


async def end(tx: Tx, import_id: UUID, status: ImportState, reason: Translatable | None, now: datetime) -> None:
    """End an import, and delete what was stored for it."""
    await tx.execute(END, import_id, status, None if reason is None else dump_text(reason), now)
    for statement in (DELETE_PIECES, DELETE_STATEMENTS, DELETE_ENTRIES):
        await tx.execute(statement, import_id)


async def delete_entries(tx: Tx, import_id: UUID, places: Sequence[tuple[int, int]]) -> None:
    """Delete entries that were read, by the numbers of their statements and their places there."""
    if places:
        statements, within = [place[0] for place in places], [place[1] for place in places]
        await tx.execute(DELETE_SOME_ENTRIES, import_id, statements, within)


async def set_aside(tx: Tx, import_id: UUID, reason: Translatable, now: datetime) -> None:
    """Keep a file that operators have to confirm. It is read again then."""
    await tx.execute(SET_ASIDE, import_id, dump_text(reason), now)
    await tx.execute(DELETE_ENTRIES, import_id)


async def unconfirmed(db: Pool, limit: int) -> list[FileImport]:
    """Imports that operators have to confirm, oldest first."""
    return await IMPORT.find_all(db, UNCONFIRMED, limit)


async def lock_unconfirmed(tx: Tx, import_id: UUID) -> bool:
    """Lock an import that operators have to confirm; False if it is none."""
    return await tx.fetchrow(LOCK_UNCONFIRMED, import_id) is not None


async def confirm(tx: Tx, import_id: UUID, now: datetime) -> None:
    """Have a confirmed file imported."""
    await tx.execute(CONFIRM, import_id, now)


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
    return await list_shown(db, Announcement, catalogue, ANNOUNCED, since, limit)


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
    return [read_shown(ListedReport, row) for row in await db.fetch(REPORTS, batch_id, limit)]
