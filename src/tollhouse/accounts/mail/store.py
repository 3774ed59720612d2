"""Every SQL statement about the outbox. `attempts` is the fencing token: only the last lease can finish an email."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from tollhouse.accounts.mail.model import Email, EmailSummary, LinkKind, QueuedEmail, lifetime_of
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Pool, Row, Tx

INSERT = """
    INSERT INTO mails (id, about, user_id, recipient, language, facts, created_at, useful_until, next_attempt_at, occasion)
    SELECT m.id, m.about, m.user_id, m.recipient, m.language, m.facts::jsonb, $1, m.useful_until, $1, m.occasion
    FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[])
        AS m (id, about, user_id, recipient, language, facts, useful_until, occasion)
    ON CONFLICT (user_id, about, occasion) WHERE occasion IS NOT NULL DO NOTHING
"""
# The lease lasts until `next_attempt_at`. After a crash the email is sent again: at least once.
LEASE_DUE = """
    UPDATE mails SET attempts = attempts + 1, next_attempt_at = $2
    WHERE id IN (SELECT id FROM mails WHERE next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT $3
                 FOR UPDATE SKIP LOCKED)
    RETURNING id, about, user_id, recipient, language, facts, created_at, useful_until, attempts
"""
# From here on the email belongs to a user, and its link works. While a change of the address can be undone, it goes to
# the old address, for whichever of the two it was requested.
SET_RECIPIENT = """
    UPDATE mails m SET user_id = u.id, recipient = coalesce(c.old_email, u.email), language = u.language
    FROM users u
    LEFT JOIN address_changes c ON c.user_id = u.id AND c.undone_at IS NULL AND c.undo_until > $3
    WHERE m.id = $1 AND m.attempts = $2 AND m.user_id IS NULL AND u.id = coalesce(
        (SELECT id FROM users WHERE email_key = m.recipient),
        (SELECT user_id FROM address_changes WHERE old_key = m.recipient AND undone_at IS NULL AND undo_until > $3))
    RETURNING m.id, m.about, m.user_id, m.recipient, m.language, m.facts, m.created_at, m.useful_until, m.attempts
"""
DELETE_UNADDRESSED = "DELETE FROM mails WHERE id = $1 AND attempts = $2 AND user_id IS NULL"
RECORD_SENT = """
    UPDATE mails SET next_attempt_at = NULL, sent_at = $3, error = NULL
    WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
RECORD_SHOWN = """
    UPDATE mails SET next_attempt_at = NULL, shown_at = $3, error = NULL
    WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
GIVE_UP = """
    UPDATE mails SET next_attempt_at = NULL, given_up_at = $3, error = $4
    WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
SCHEDULE_RETRY = """
    UPDATE mails SET next_attempt_at = $3, error = $4 WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
LINK_OWNER = """
    SELECT m.user_id, u.email, u.verified_at IS NOT NULL AND m.used_at IS NOT NULL AS verified,
           m.used_at IS NULL AND m.useful_until > $3 AS active
    FROM mails m JOIN users u ON u.id = m.user_id
    LEFT JOIN address_changes c ON m.about = 'reset' AND c.user_id = u.id AND c.undone_at IS NULL AND c.undo_until > $3
    WHERE m.id = $1 AND m.about = $2 AND m.recipient = coalesce(c.old_email, u.email)
"""
USE_LINK = """
    UPDATE mails SET used_at = $3
    WHERE id = $1 AND about = $2 AND used_at IS NULL AND useful_until > $3 AND user_id IS NOT NULL RETURNING user_id
"""
INVALIDATE_RESETS = "UPDATE mails SET used_at = $2 WHERE user_id = $1 AND about = 'reset' AND used_at IS NULL"
LIST = """
    SELECT id, about, recipient, attempts, error, created_at, sent_at, shown_at, given_up_at
    FROM mails ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2
"""
SUMMARY = """
    SELECT id, about, recipient, attempts, error, created_at, sent_at, shown_at, given_up_at FROM mails WHERE id = $1
"""
GET = """
    SELECT id, about, user_id, recipient, language, facts, created_at, useful_until, attempts FROM mails WHERE id = $1
"""
DELETE_OLD = """
    DELETE FROM mails WHERE id IN (
        SELECT id FROM mails WHERE created_at <= $1 AND next_attempt_at IS NULL
        ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
# Sent or waiting.
DELETE_OF_PERSON = "DELETE FROM mails WHERE lower(recipient) = lower($1) OR user_id = $2"
FACTS = msgspec.json.Decoder(dict[str, str])


async def enqueue(tx: Tx, email: Email, now: datetime) -> UUID:
    """Enqueue an email in the transaction of the action that it reports; its ID. It is sent after the commit."""
    [mail_id] = await enqueue_all(tx, [email], now)
    return mail_id


async def enqueue_all(tx: Tx, emails: Sequence[Email], now: datetime) -> list[UUID]:
    """Enqueue emails in one statement; their IDs, also of those that were sent for their occasion before."""
    rows = [
        (
            new_id(), email.kind, email.user_id, email.recipient, email.language, msgspec.json.encode(email.facts).decode(),
            now + lifetime_of(email.kind), email.occasion,
        )
        for email in emails
    ]  # fmt: skip
    if rows:
        await tx.execute(INSERT, now, *zip(*rows, strict=True))
    return [row[0] for row in rows]


async def lease_due(db: Pool, now: datetime, until: datetime, limit: int) -> list[QueuedEmail]:
    """Lease the emails that are due."""
    return [_queued(row) for row in await db.fetch(LEASE_DUE, now, until, limit)]


async def set_recipient(db: Pool, queued: QueuedEmail, now: datetime) -> QueuedEmail | None:
    """The email with the user of its address; without such a user it is deleted, and the result is None."""
    row = await db.fetchrow(SET_RECIPIENT, queued.id, queued.attempts, now)
    if row is None:
        await db.execute(DELETE_UNADDRESSED, queued.id, queued.attempts)
        return None
    return _queued(row)


async def record_sent(db: Pool, queued: QueuedEmail, now: datetime) -> bool:
    """Mark the email as sent; False if the lease was lost."""
    return await db.execute(RECORD_SENT, queued.id, queued.attempts, now) == 1


async def record_shown(db: Pool, queued: QueuedEmail, now: datetime) -> bool:
    """Mark the email as logged instead of sent; False if the lease was lost."""
    return await db.execute(RECORD_SHOWN, queued.id, queued.attempts, now) == 1


async def give_up(db: Pool, queued: QueuedEmail, error: str, now: datetime) -> None:
    """Mark the email as not sent."""
    await db.execute(GIVE_UP, queued.id, queued.attempts, now, error)


async def schedule_retry(db: Pool, queued: QueuedEmail, error: str, at: datetime) -> None:
    """Schedule the next attempt."""
    await db.execute(SCHEDULE_RETRY, queued.id, queued.attempts, at, error)


async def find_link_owner(db: Pool | Tx, kind: LinkKind, mail_id: UUID, now: datetime) -> Row | None:
    """The user of a link (`user_id`, `email`), whether it is `active`, and whether it `verified` the address."""
    return await db.fetchrow(LINK_OWNER, mail_id, kind, now)


async def use_link(tx: Tx, kind: LinkKind, mail_id: UUID, now: datetime) -> UUID | None:
    """Use a link; its user. None if it is unknown, used or expired."""
    row = await tx.fetchrow(USE_LINK, mail_id, kind, now)
    return None if row is None else row["user_id"]


async def invalidate_resets(tx: Tx, user_id: UUID, now: datetime) -> None:
    """Invalidate every password reset link of this user."""
    await tx.execute(INVALIDATE_RESETS, user_id, now)


async def list_summaries(db: Pool, limit: int, offset: int) -> list[EmailSummary]:
    """Emails, newest first."""
    return [_summary(row) for row in await db.fetch(LIST, limit, offset)]


async def get_summary(db: Pool, mail_id: UUID) -> EmailSummary | None:
    """One email without its content."""
    row = await db.fetchrow(SUMMARY, mail_id)
    return None if row is None else _summary(row)


async def get(db: Pool, mail_id: UUID) -> QueuedEmail | None:
    """One email with its content."""
    row = await db.fetchrow(GET, mail_id)
    return None if row is None else _queued(row)


async def delete_of_person(tx: Tx, recipient: str, user_id: UUID | None) -> int:
    """Delete the emails to an address and of a user, also those waiting. Returns their number."""
    return await tx.execute(DELETE_OF_PERSON, recipient, user_id)


def _queued(row: Row) -> QueuedEmail:
    facts: Any = row["facts"]
    email = Email(row["about"], row["recipient"], row["language"], row["user_id"], FACTS.decode(facts))
    return QueuedEmail(row["id"], email, row["created_at"], row["useful_until"], row["attempts"])


def _summary(row: Row) -> EmailSummary:
    ended_at = row["sent_at"] or row["shown_at"] or row["given_up_at"]
    status = "sent" if row["sent_at"] else "shown" if row["shown_at"] else "given_up" if ended_at else "waiting"
    return EmailSummary(
        row["id"],
        row["about"],
        row["recipient"],
        status,
        row["attempts"],
        row["error"],
        stamp(row["created_at"]),
        stamp_or_none(ended_at),
    )
