"""Every SQL statement that writes and reads the audit log."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.audit.event_types import TOPICS, AuditEventType
from tollhouse.accounts.audit.model import AuditEvent, AuditFilter, Changes, NamedActor, PersonEvent
from tollhouse.http.lists import Position, Window, read_in_batches
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.database.pool import Pool, Row, Tx

INSERT = """
    INSERT INTO audit_lines
        (merchant_id, id, created_at, mode, deed, author_kind, author, address, request_id, subject, name, changed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::json)
"""
# In the log of each merchant that the user belongs to. Writes nothing for an operator, who belongs to none.
INSERT_FOR_USER = """
    INSERT INTO audit_lines (merchant_id, id, created_at, deed, author_kind, author, address, request_id)
    SELECT merchant_id, $2, $3, $4, $5, $6, $7, $8 FROM members WHERE user_id = $1 AND removed_at IS NULL
"""
# Older than `$1`, at most `$2` at a time. A trigger refuses to delete events younger than one year.
COUNT_EVENTS = "SELECT count(*) AS count FROM audit_lines WHERE created_at <= $1"
DELETE_EVENTS = """
    DELETE FROM audit_lines WHERE (merchant_id, id) IN (
        SELECT merchant_id, id FROM audit_lines WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""

BATCH = 1_000
ACTORS_MAX = 100

# Both bounds of created_at are always set: the index scan is bounded under a generic plan too.
OLDER = """
    SELECT id, created_at, mode, deed AS event_type, author_kind AS actor_kind, author AS actor, address, request_id,
           subject, name, changed
    FROM audit_lines
    WHERE merchant_id = $1 AND (created_at, id) < ($2, $3) AND created_at >= $4 AND created_at < $5
      AND ($6 = '' OR coalesce(mode, 'account') = $6)
      AND (cardinality($7::text[]) = 0 OR split_part(deed, '.', 1) = ANY ($7))
      AND ($8 = '' OR author_kind = $8) AND ($9 = '' OR author = $9)
    ORDER BY created_at DESC, id DESC LIMIT $10
"""
# Of all merchants of the person: what concerns the person alone is in the log of each, with one ID.
OF_PERSON = """
    SELECT DISTINCT ON (a.created_at, a.id) a.id, a.created_at, a.deed AS event_type, a.author_kind AS actor_kind, a.address
    FROM members m JOIN audit_lines a ON a.merchant_id = m.merchant_id
    WHERE m.user_id = $1 AND (a.author_kind = 'person' AND a.author = $1::text OR a.subject = $1::text)
      AND split_part(a.deed, '.', 1) = ANY ($2) AND a.created_at >= $3 AND (a.created_at, a.id) < ($4, $5)
    ORDER BY a.created_at DESC, a.id DESC LIMIT $6 OFFSET $7
"""
POSITION = "SELECT created_at, id FROM audit_lines WHERE merchant_id = $1 AND id = $2"
# The possible actors, for the filter and for names.
ACTORS = """
    (SELECT 'person' AS kind, u.id::text AS id, u.email AS name FROM members m JOIN users u ON u.id = m.user_id
     WHERE m.merchant_id = $1 ORDER BY m.created_at, u.id LIMIT $2)
    UNION ALL
    (SELECT 'api_key', id::text, name || ' …' || hint FROM api_keys
     WHERE merchant_id = $1 ORDER BY created_at DESC, api_keys.id DESC LIMIT $2)
    UNION ALL
    (SELECT 'application', c.id, c.name FROM oauth_clients c
     WHERE c.id IN (SELECT client_id FROM oauth_grants WHERE merchant_id = $1) ORDER BY c.name, c.id LIMIT $2)
"""


class Subject(Struct, frozen=True):
    """The object of an event: its ID, its name, and its changed values as JSON."""

    id: str | None
    name: str | None
    changed: str | None


async def insert(
    tx: Tx,
    merchant_id: UUID,
    event_id: UUID,
    now: datetime,
    mode: Mode | None,
    event_type: AuditEventType,
    by: Actor,
    about: Subject,
) -> None:
    """Insert an event of this merchant."""
    await tx.write(INSERT, merchant_id, event_id, now, mode, event_type, *_columns(by), *msgspec.structs.astuple(about))


async def insert_for_user(
    tx: Tx, user_id: UUID, event_id: UUID, now: datetime, event_type: AuditEventType, by: Actor
) -> None:
    """Insert an event of each merchant that this user belongs to."""
    await tx.execute(INSERT_FOR_USER, user_id, event_id, now, event_type, *_columns(by))


def _columns(by: Actor) -> tuple[object, ...]:
    return by.kind, by.id, by.address, by.request_id


async def list_older(
    db: Pool, merchant_id: MerchantId, filters: AuditFilter, after: Position, limit: int
) -> list[AuditEvent]:
    """Events older than this position, newest first."""
    rows = await db.fetch_custom_plan(OLDER, merchant_id, after.at, after.id, *msgspec.structs.astuple(filters), limit)
    return [_event(row) for row in rows]


async def list_of_person(db: Pool, user_id: UUID, window: Window) -> list[PersonEvent]:
    """What happened to the access of a person, newest first."""
    kinds = list(TOPICS["access"])
    rows = await db.fetch_custom_plan(OF_PERSON, user_id, kinds, *msgspec.structs.astuple(window))
    return [PersonEvent(**row) for row in rows]


async def find_position(db: Pool, merchant_id: MerchantId, event_id: UUID) -> Position | None:
    """The position of an event; None if the merchant has no such event."""
    row = await db.fetchrow(POSITION, merchant_id, event_id)
    return None if row is None else Position(row["created_at"], row["id"])


async def list_actors(db: Pool, merchant_id: MerchantId) -> list[NamedActor]:
    """The merchant's users, its newest API keys, and every application it was connected to."""
    return [NamedActor(**row) for row in await db.fetch(ACTORS, merchant_id, ACTORS_MAX)]


def iterate(db: Pool, merchant_id: MerchantId, filters: AuditFilter) -> AsyncIterator[list[AuditEvent]]:
    """Every event that matches, newest first, in batches."""
    return read_in_batches(lambda after: list_older(db, merchant_id, filters, after, BATCH), BATCH)


def _event(row: Row) -> AuditEvent:
    changed = msgspec.json.decode(row["changed"], type=Changes) if row["changed"] is not None else {}
    return AuditEvent(**{name: row[name] for name in AuditEvent.__struct_fields__ if name != "changed"}, changed=changed)
