"""Every SQL statement that reads the audit log: a page from a place on, whatever stands before it."""

from collections.abc import AsyncIterator
from uuid import UUID

import msgspec

from tollhouse.audit.changes import Changes
from tollhouse.audit_log.model import KnownAuthor, Line, Wanted
from tollhouse.http.keyset import NEWEST, Position, read_in_batches
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Row

BATCH = 1_000
AUTHORS_MAX = 100

# Both ends of time are always given, so that the index bounds the walk however the plan was made.
OLDER = """
    SELECT id, created_at, mode, deed AS action, author_kind, author, address, request_id, subject, name, changed
    FROM audit_lines
    WHERE merchant_id = $1 AND (created_at, id) < ($2, $3) AND created_at >= $4 AND created_at < $5
      AND ($6 = '' OR coalesce(mode, 'account') = $6)
      AND (cardinality($7::text[]) = 0 OR split_part(deed, '.', 1) = ANY ($7))
      AND ($8 = '' OR author_kind = $8) AND ($9 = '' OR author = $9)
    ORDER BY created_at DESC, id DESC LIMIT $10
"""
PLACE = "SELECT created_at, id FROM audit_lines WHERE merchant_id = $1 AND id = $2"
# Who can have done something here, for the filter and for the names.
AUTHORS = """
    (SELECT 'person' AS kind, id::text AS id, email AS name FROM users WHERE merchant_id = $1 ORDER BY created_at LIMIT $2)
    UNION ALL
    (SELECT 'api_key', id::text, name || ' …' || hint FROM api_keys
     WHERE merchant_id = $1 ORDER BY created_at DESC, api_keys.id DESC LIMIT $2)
    UNION ALL
    (SELECT 'application', c.id, c.name FROM oauth_clients c
     WHERE c.id IN (SELECT client_id FROM oauth_grants WHERE merchant_id = $1) ORDER BY c.name, c.id LIMIT $2)
"""


async def older(db: Pool, merchant_id: MerchantId, wanted: Wanted, than: Position, limit: int) -> list[Line]:
    """Lines older than this place, newest first."""
    rows = await db.fetch(OLDER, merchant_id, than.at, than.id, *msgspec.structs.astuple(wanted), limit)
    return [_line(row) for row in rows]


async def place_of(db: Pool, merchant_id: MerchantId, line_id: UUID) -> Position | None:
    """Where this line stands; None when it is another merchant's."""
    row = await db.fetchrow(PLACE, merchant_id, line_id)
    return None if row is None else Position(row["created_at"], row["id"])


async def authors(db: Pool, merchant_id: MerchantId) -> list[KnownAuthor]:
    """The merchant's people, its newest API keys, and the applications it was ever connected to."""
    return [KnownAuthor(**row) for row in await db.fetch(AUTHORS, merchant_id, AUTHORS_MAX)]


def all_lines(db: Pool, merchant_id: MerchantId, wanted: Wanted) -> AsyncIterator[list[Line]]:
    """Every line that is meant, newest first, a batch at a time."""
    return read_in_batches(lambda last: older(db, merchant_id, wanted, NEWEST if last is None else last.place, BATCH), BATCH)


def _line(row: Row) -> Line:
    changed = msgspec.json.decode(row["changed"], type=Changes) if row["changed"] is not None else {}
    return Line(**{name: row[name] for name in Line.__struct_fields__ if name != "changed"}, changed=changed)
