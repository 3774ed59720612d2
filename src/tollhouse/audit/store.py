"""Every SQL statement that writes the audit log."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.audit.author import Author
from tollhouse.audit.event_types import AuditEventType
from tollhouse.kernel.ids import Mode
from tollhouse.platform.db import Tx

NOTE = """
    INSERT INTO audit_lines
        (merchant_id, id, created_at, mode, deed, author_kind, author, address, request_id, subject, name, changed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::json)
"""
# Of whose people it is: an operator is no merchant's, and has no line.
NOTE_OF_PERSON = """
    INSERT INTO audit_lines (merchant_id, id, created_at, deed, author_kind, author, address, request_id)
    SELECT u.merchant_id, $2, $3, $4, $5, $6, $7, $8 FROM users u WHERE u.id = $1
"""


class About(Struct, frozen=True):
    """What a deed is done to, what that is called, and what becomes of it, as JSON."""

    subject: str | None
    name: str | None
    changed: str | None


async def note(
    tx: Tx,
    merchant_id: UUID,
    line_id: UUID,
    now: datetime,
    mode: Mode | None,
    action: AuditEventType,
    by: Author,
    about: About,
) -> None:
    """A line of this merchant."""
    await tx.execute(NOTE, merchant_id, line_id, now, mode, action, *_who(by), *msgspec.structs.astuple(about))


async def note_of_person(tx: Tx, user_id: UUID, line_id: UUID, now: datetime, action: AuditEventType, by: Author) -> None:
    """A line of the merchant whose person this is."""
    await tx.execute(NOTE_OF_PERSON, user_id, line_id, now, action, *_who(by))


def _who(by: Author) -> tuple[object, ...]:
    return by.kind, by.id, by.address, by.request_id
