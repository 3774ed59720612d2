"""Every SQL statement that writes the audit log."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Tx

INSERT = """
    INSERT INTO audit_lines
        (merchant_id, id, created_at, mode, deed, author_kind, author, address, request_id, subject, name, changed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::json)
"""
# Writes nothing for an operator, who is not in `users`.
INSERT_FOR_USER = """
    INSERT INTO audit_lines (merchant_id, id, created_at, deed, author_kind, author, address, request_id)
    SELECT u.merchant_id, $2, $3, $4, $5, $6, $7, $8 FROM users u WHERE u.id = $1
"""
# Older than `$1`, at most `$2` at a time. A trigger refuses to delete events younger than one year.
COUNT_EVENTS = "SELECT count(*) AS count FROM audit_lines WHERE created_at <= $1"
DELETE_EVENTS = """
    DELETE FROM audit_lines WHERE (merchant_id, id) IN (
        SELECT merchant_id, id FROM audit_lines WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
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
    await tx.defer(INSERT, merchant_id, event_id, now, mode, event_type, *_columns(by), *msgspec.structs.astuple(about))


async def insert_for_user(
    tx: Tx, user_id: UUID, event_id: UUID, now: datetime, event_type: AuditEventType, by: Actor
) -> None:
    """Insert an event of the merchant that this user belongs to."""
    await tx.execute(INSERT_FOR_USER, user_id, event_id, now, event_type, *_columns(by))


def _columns(by: Actor) -> tuple[object, ...]:
    return by.kind, by.id, by.address, by.request_id
