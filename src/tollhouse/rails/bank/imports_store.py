"""SQL of imports: files, and the statements and entries that were read from them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel.text import Translatable, dump_text, load_text
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.rails.bank.files.statement import Entry, ImportKind, Statement
from tollhouse.rails.bank.imports_model import FileImport, ImportState
from tollhouse.rails.bank.model import Imported

LOCK_KEY = 0x62616E6B  # "bank"

INSERT = "INSERT INTO bank_imports (id, size_bytes, uploaded_by, uploaded_at, on_command_line) VALUES ($1, $2, $3, $4, $5)"
INSERT_PIECE = "INSERT INTO bank_import_pieces (import_id, nth, content) VALUES ($1, $2, $3)"
PIECE = "SELECT content FROM bank_import_pieces WHERE import_id = $1 AND nth = $2"
# One that was begun comes first: an upload that took longer can have an older id and be visible only now.
NEXT = "SELECT id FROM bank_imports WHERE ended_at IS NULL ORDER BY status = 'uploaded', id LIMIT 1"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1)"
COLUMNS = """id, size_bytes, status, kind, because, entries, statement, statement_id, next_entry, statements, new_entries,
           known_entries, matched, unmatched, uploaded_by, uploaded_at, on_command_line, confirmed_at"""
GET = f"SELECT {COLUMNS} FROM bank_imports WHERE id = $1"
ACTIVE = f"SELECT {COLUMNS} FROM bank_imports WHERE ended_at IS NULL ORDER BY id LIMIT $1"
LOCK = f"SELECT {COLUMNS} FROM bank_imports WHERE id = $1 AND ended_at IS NULL FOR NO KEY UPDATE"
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
UNCONFIRMED = f"SELECT {COLUMNS} FROM bank_imports WHERE status = 'unconfirmed' ORDER BY id LIMIT $1"
DELETE_PIECES = "DELETE FROM bank_import_pieces WHERE import_id = $1"
DELETE_STATEMENTS = "DELETE FROM bank_import_statements WHERE import_id = $1"
DELETE_ENTRIES = "DELETE FROM bank_import_entries WHERE import_id = $1"


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
    row = await db.fetchrow(GET, import_id)
    return None if row is None else _from_row(row)


async def active(db: Pool, limit: int) -> list[FileImport]:
    """Imports that have not ended, in their order."""
    return [_from_row(row) for row in await db.fetch(ACTIVE, limit)]


async def lock(tx: Tx, import_id: UUID) -> FileImport | None:
    """Lock an import, and all others until the transaction ends. None if it is not its turn, or somebody takes a step."""
    if not await tx.fetchval(TRY_LOCK, LOCK_KEY) or await next_id(tx) != import_id:
        return None
    row = await tx.fetchrow(LOCK, import_id)
    return None if row is None else _from_row(row)


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
        statements, within = [one[0] for one in places], [one[1] for one in places]
        await tx.execute(DELETE_SOME_ENTRIES, import_id, statements, within)


async def set_aside(tx: Tx, import_id: UUID, reason: Translatable, now: datetime) -> None:
    """Keep a file that operators have to confirm. It is read again then."""
    await tx.execute(SET_ASIDE, import_id, dump_text(reason), now)
    await tx.execute(DELETE_ENTRIES, import_id)


async def unconfirmed(db: Pool, limit: int) -> list[FileImport]:
    """Imports that operators have to confirm, oldest first."""
    return [_from_row(row) for row in await db.fetch(UNCONFIRMED, limit)]


async def lock_unconfirmed(tx: Tx, import_id: UUID) -> bool:
    """Lock an import that operators have to confirm; False if it is none."""
    return await tx.fetchrow(LOCK_UNCONFIRMED, import_id) is not None


async def confirm(tx: Tx, import_id: UUID, now: datetime) -> None:
    """Have a confirmed file imported."""
    await tx.execute(CONFIRM, import_id, now)


def _from_row(row: Row) -> FileImport:
    because = row["because"]
    return FileImport(
        id=row["id"],
        size_bytes=row["size_bytes"],
        status=row["status"],
        kind=row["kind"],
        reason=None if because is None else load_text(because),
        entries=row["entries"],
        statement=row["statement"],
        statement_id=row["statement_id"],
        next_entry=row["next_entry"],
        imported=Imported(row["statements"], row["new_entries"], row["known_entries"], row["matched"], row["unmatched"]),
        uploaded_by=row["uploaded_by"],
        uploaded_at=row["uploaded_at"],
        on_command_line=row["on_command_line"],
        confirmed_at=row["confirmed_at"],
    )
