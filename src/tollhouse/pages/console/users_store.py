"""SQL of operators' accounts: passwords and invitation links."""

from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.pool import Pool, Row, Tx

OPERATORS = """
    SELECT o.id, o.email, o.link_expires_at, o.created_at, o.closed_at,
           (SELECT max(s.last_seen_at) FROM operator_sessions s WHERE s.operator_id = o.id) AS last_seen_at,
           CASE WHEN o.closed_at IS NOT NULL THEN 'closed' WHEN o.password_hash IS NOT NULL THEN 'active' ELSE 'invited'
           END AS status
    FROM operators o ORDER BY o.created_at DESC, o.id DESC
"""
# A closed operator can be invited again.
INVITE = """
    INSERT INTO operators (id, email, email_key, link_hash, link_expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (email_key) DO UPDATE
        SET email = excluded.email, link_hash = excluded.link_hash, link_expires_at = excluded.link_expires_at,
            closed_at = NULL
        WHERE operators.closed_at IS NOT NULL
    RETURNING id, email
"""
INVITE_AGAIN = """
    UPDATE operators SET password_hash = NULL, link_hash = $2, link_expires_at = $3
    WHERE email_key = $1 AND closed_at IS NULL RETURNING id, email
"""
CLOSE = """
    UPDATE operators SET password_hash = NULL, link_hash = NULL, link_expires_at = NULL, closed_at = $2
    WHERE email_key = $1 AND closed_at IS NULL RETURNING id, email
"""
INVITED = "SELECT id, email FROM operators WHERE link_hash = $1 AND link_expires_at > $2"
JOIN = """
    UPDATE operators SET password_hash = $2, link_hash = NULL, link_expires_at = NULL
    WHERE link_hash = $1 AND link_expires_at > $3 RETURNING id, email
"""
EMAIL_KEY_OF = "SELECT email_key FROM operators WHERE id = $1"
HASH_OF = "SELECT password_hash FROM operators WHERE id = $1 AND closed_at IS NULL"


class InvitationExpired(ApiError):
    """410: the link to choose a password is unknown, was used, or has expired."""

    code, status = "link_over", 410
    message = "This link was used or has expired. Ask an operator for a new one."


class OperatorSummary(Struct, frozen=True):
    """An operator. `link_expires_at` is set until a password is chosen."""

    operator_id: UUID
    email: str
    status: Literal["invited", "active", "closed"]
    created_at: Timestamp
    link_expires_at: Timestamp | None
    last_seen_at: Timestamp | None
    closed_at: Timestamp | None


class OperatorAccount(NamedTuple):
    """An operator's id and email address."""

    operator_id: UUID
    email: str


async def operators(db: Pool) -> list[OperatorSummary]:
    """All operators, newest first, closed ones included."""
    rows = await db.fetch(OPERATORS)
    return [read_row(OperatorSummary, row, operator_id=row["id"]) for row in rows]


async def invite(
    tx: Tx, operator_id: UUID, email: str, key: str, link_hash: bytes, expires_at: datetime, now: datetime
) -> OperatorAccount | None:
    """Insert an operator or reopen a closed one; None if the email address is in use."""
    return _operator(await tx.fetchrow(INVITE, operator_id, email, key, link_hash, expires_at, now))


async def invite_again(tx: Tx, key: str, link_hash: bytes, expires_at: datetime) -> OperatorAccount | None:
    """Replace the password by a new link; None if there is no such operator."""
    return _operator(await tx.fetchrow(INVITE_AGAIN, key, link_hash, expires_at))


async def close(tx: Tx, key: str, now: datetime) -> OperatorAccount | None:
    """Remove password and link; None if there is no such operator."""
    return _operator(await tx.fetchrow(CLOSE, key, now))


async def invited(db: Pool, link_hash: bytes, now: datetime) -> OperatorAccount | None:
    """The operator with this unexpired link."""
    return _operator(await db.fetchrow(INVITED, link_hash, now))


async def join(tx: Tx, link_hash: bytes, password_hash: str, now: datetime) -> OperatorAccount | None:
    """Set the password and use the link up; None if the link is unknown, used or expired."""
    return _operator(await tx.fetchrow(JOIN, link_hash, password_hash, now))


async def email_key_of(db: Pool, operator_id: UUID) -> str:
    """The normalized email address of the operator."""
    [row] = await db.fetch(EMAIL_KEY_OF, operator_id)
    return row["email_key"]


async def password_of(db: Pool, operator_id: UUID) -> str | None:
    """The hash of the operator's password; None if it was removed."""
    row = await db.fetchrow(HASH_OF, operator_id)
    return None if row is None else row["password_hash"]


def _operator(row: Row | None) -> OperatorAccount | None:
    return None if row is None else OperatorAccount(row["id"], row["email"])
