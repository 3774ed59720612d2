"""Every SQL statement about the outbox. Whose turn it is to send a mail is told by its attempts: who took it last."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.mail.model import Letter, Linked, ListedMail, Mail
from tollhouse.platform.db import Pool, Row, Tx

PUT = """
    INSERT INTO mails (id, about, user_id, recipient, language, facts, created_at, useful_until, next_attempt_at)
    VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8, $7)
"""
# Until `next_attempt_at` nobody else takes it. Should we die meanwhile it is sent again: at least once, not at most.
TAKE_DUE = """
    UPDATE mails SET attempts = attempts + 1, next_attempt_at = $2
    WHERE id IN (SELECT id FROM mails WHERE next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT $3
                 FOR UPDATE SKIP LOCKED)
    RETURNING id, about, user_id, recipient, language, facts, created_at, useful_until, attempts
"""
# Behind this the mail is somebody's, and its link works.
ADDRESS = """
    UPDATE mails m SET user_id = u.id, recipient = u.email, language = u.language
    FROM users u WHERE m.id = $1 AND m.attempts = $2 AND m.user_id IS NULL AND u.email_key = m.recipient
    RETURNING m.id, m.about, m.user_id, m.recipient, m.language, m.facts, m.created_at, m.useful_until, m.attempts
"""
DROP_UNADDRESSED = "DELETE FROM mails WHERE id = $1 AND attempts = $2 AND user_id IS NULL"
NOTE_SENT = """
    UPDATE mails SET next_attempt_at = NULL, sent_at = $3, error = NULL
    WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
NOTE_SHOWN = """
    UPDATE mails SET next_attempt_at = NULL, shown_at = $3, error = NULL
    WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
GIVE_UP = """
    UPDATE mails SET next_attempt_at = NULL, given_up_at = $3, error = $4
    WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
TRY_AGAIN = """
    UPDATE mails SET next_attempt_at = $3, error = $4 WHERE id = $1 AND attempts = $2 AND next_attempt_at IS NOT NULL
"""
HOLDER = """
    SELECT m.user_id, u.email, u.verified_at IS NOT NULL AND m.used_at IS NOT NULL AS verified,
           m.used_at IS NULL AND m.useful_until > $3 AS living
    FROM mails m JOIN users u ON u.id = m.user_id WHERE m.id = $1 AND m.about = $2 AND m.recipient = u.email
"""
USE = """
    UPDATE mails SET used_at = $3
    WHERE id = $1 AND about = $2 AND used_at IS NULL AND useful_until > $3 AND user_id IS NOT NULL RETURNING user_id
"""
END_RESETS = "UPDATE mails SET used_at = $2 WHERE user_id = $1 AND about = 'reset' AND used_at IS NULL"
LISTED = """
    SELECT id, about, recipient, attempts, error, created_at, sent_at, shown_at, given_up_at
    FROM mails ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2
"""
ONE_LISTED = """
    SELECT id, about, recipient, attempts, error, created_at, sent_at, shown_at, given_up_at FROM mails WHERE id = $1
"""
ONE = """
    SELECT id, about, user_id, recipient, language, facts, created_at, useful_until, attempts FROM mails WHERE id = $1
"""
FORGET = """
    DELETE FROM mails WHERE id IN (
        SELECT id FROM mails WHERE created_at <= $1 AND next_attempt_at IS NULL
        ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
FACTS = msgspec.json.Decoder(dict[str, str])


async def put(tx: Tx, mail_id: UUID, letter: Letter, now: datetime, useful_until: datetime) -> None:
    """A letter that waits to be sent."""
    facts = msgspec.json.encode(letter.facts).decode()
    who = (letter.user_id, letter.recipient, letter.language)
    await tx.execute(PUT, mail_id, letter.about, *who, facts, now, useful_until)


async def take_due(db: Pool, now: datetime, until: datetime, limit: int) -> list[Mail]:
    """What is to be sent now, which nobody else takes until then."""
    return [_mail(row) for row in await db.fetch(TAKE_DUE, now, until, limit)]


async def address(db: Pool, mail: Mail) -> Mail | None:
    """The mail with the account that it is for; None where nobody signs in with this e-mail, and nothing is left of it."""
    row = await db.fetchrow(ADDRESS, mail.id, mail.attempts)
    if row is None:
        await db.execute(DROP_UNADDRESSED, mail.id, mail.attempts)
        return None
    return _mail(row)


async def note_sent(db: Pool, mail: Mail, now: datetime) -> bool:
    """It was sent; False where somebody else took it meanwhile."""
    return await db.execute(NOTE_SENT, mail.id, mail.attempts, now) == 1


async def note_shown(db: Pool, mail: Mail, now: datetime) -> bool:
    """It is shown in the log instead; False where somebody else took it meanwhile."""
    return await db.execute(NOTE_SHOWN, mail.id, mail.attempts, now) == 1


async def give_up(db: Pool, mail: Mail, error: str, now: datetime) -> None:
    """It is not sent any more."""
    await db.execute(GIVE_UP, mail.id, mail.attempts, now, error)


async def try_again(db: Pool, mail: Mail, error: str, at: datetime) -> None:
    """It is sent again then."""
    await db.execute(TRY_AGAIN, mail.id, mail.attempts, at, error)


async def holder(db: Pool | Tx, about: Linked, mail_id: UUID, now: datetime) -> Row | None:
    """Whose link this is (`user_id`, `email`), whether it works, and whether it was used to verify the address."""
    return await db.fetchrow(HOLDER, mail_id, about, now)


async def use(tx: Tx, about: Linked, mail_id: UUID, now: datetime) -> UUID | None:
    """Use a link up; whose it was. None when it is none, was used, or is too old."""
    row = await tx.fetchrow(USE, mail_id, about, now)
    return None if row is None else row["user_id"]


async def end_resets(tx: Tx, user_id: UUID, now: datetime) -> None:
    """No link of this person's sets a password any more."""
    await tx.execute(END_RESETS, user_id, now)


async def listed(db: Pool, limit: int, offset: int) -> list[ListedMail]:
    """Mails, the newest first."""
    return [_listed(row) for row in await db.fetch(LISTED, limit, offset)]


async def one_listed(db: Pool, mail_id: UUID) -> ListedMail | None:
    """One of them."""
    row = await db.fetchrow(ONE_LISTED, mail_id)
    return None if row is None else _listed(row)


async def one(db: Pool, mail_id: UUID) -> Mail | None:
    """A mail with what it says."""
    row = await db.fetchrow(ONE, mail_id)
    return None if row is None else _mail(row)


def _mail(row: Row) -> Mail:
    facts: Any = row["facts"]
    letter = Letter(row["about"], row["recipient"], row["language"], row["user_id"], FACTS.decode(facts))
    return Mail(row["id"], letter, row["created_at"], row["useful_until"], row["attempts"])


def _listed(row: Row) -> ListedMail:
    ended_at = row["sent_at"] or row["shown_at"] or row["given_up_at"]
    status = "sent" if row["sent_at"] else "shown" if row["shown_at"] else "given_up" if ended_at else "waiting"
    return ListedMail(
        row["id"],
        row["about"],
        row["recipient"],
        status,
        row["attempts"],
        row["error"],
        stamp(row["created_at"]),
        stamp_or_none(ended_at),
    )
