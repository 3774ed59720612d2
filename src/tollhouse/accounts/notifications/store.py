"""Every SQL statement about notifications. An inbox is read kind by kind by one index: a page costs the same at any length.

What is older than the membership counts as read. Reading all is one time for each mode. What was recorded within the last
minute is marked one by one instead, since a transaction that has not committed yet may be older than what the member saw.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from tollhouse.accounts.mail.model import KINDS, NotificationEvent, NotificationKind
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.model import (
    DueDigest,
    Inbox,
    MailChoice,
    MailRecipient,
    Notification,
    NotificationMode,
    roles_of,
)
from tollhouse.http.lists import Window
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.kernel.limits import NOTIFICATION_SETTLED_S, NOTIFICATIONS_UNREAD_MAX
from tollhouse.platform.database.pool import Pool, Row, Tx

SETTLED_AFTER = timedelta(seconds=NOTIFICATION_SETTLED_S)
"""What is younger may have neighbors that are not committed yet."""

# Each occasion once: of two that report it, the second one waits, inserts nothing and returns nobody.
INSERT = """
    WITH added AS (
        INSERT INTO notifications (id, merchant_id, mode, kind, event, user_id, occasion, subject, facts, created_at)
        SELECT n.id, n.merchant_id, n.mode, $1, $2, n.user_id, n.occasion, n.subject, n.facts::jsonb, $3
        FROM unnest($5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::text[], $10::text[], $11::text[])
            AS n (id, merchant_id, mode, user_id, occasion, subject, facts)
        ON CONFLICT (merchant_id, event, occasion, mode) DO NOTHING
        RETURNING id, merchant_id, mode, user_id
    )
    SELECT a.id AS notification_id, a.merchant_id, m.business_name, u.id AS user_id, u.email, u.language
    FROM added a
    JOIN merchants m ON m.id = a.merchant_id
    JOIN members b ON b.merchant_id = a.merchant_id AND b.removed_at IS NULL
    JOIN users u ON u.id = b.user_id
    LEFT JOIN notification_preferences p ON p.merchant_id = a.merchant_id AND p.user_id = u.id AND p.kind = $1
    WHERE a.mode <> 'test' AND b.role = ANY ($4::text[]) AND coalesce(p.mail, 'immediate') = 'immediate'
      AND (a.user_id IS NULL OR a.user_id = u.id)
    ORDER BY u.id
"""
_EVERYBODY = "'00000000-0000-0000-0000-000000000000'"
_SHOWN = "n.id, n.kind, n.event, n.mode, n.subject, n.facts, n.created_at"
# A list of one mode, and that mode first in the order: then only the index of the inbox has this order. By the index of
# ages, rows of all kinds would be passed over. Of one kind, each row is for one person.
_OF_INBOX = f"""
    n.merchant_id = $1 AND n.kind = seen.kind AND n.mode = ANY (ARRAY[seen.mode])
    AND coalesce(n.user_id, {_EVERYBODY}) = CASE seen.kind WHEN 'new_device' THEN $2::uuid ELSE {_EVERYBODY} END
"""
_NEWEST = "ORDER BY n.mode, n.created_at DESC, n.id DESC"
_SEEN = """
    FROM unnest($3::text[], $4::text[]) AS seen (kind, mode)
    JOIN members b ON b.merchant_id = $1 AND b.user_id = $2 AND b.removed_at IS NULL
    LEFT JOIN notification_marks k ON k.merchant_id = $1 AND k.user_id = $2 AND k.mode = seen.mode
"""
# A value that is looked up row by row: NOT EXISTS may become a join of everything that is unread with everything that was
# read, and the planner takes a test for NULL for one that hardly any row passes.
_IS_UNREAD = """
    n.created_at > coalesce(k.through_at, b.created_at)
    AND coalesce((SELECT false FROM notification_reads r
                  WHERE r.merchant_id = $1 AND r.notification_id = n.id AND r.user_id = $2), true)
"""
LIST = f"""
    SELECT {_SHOWN}, n.is_read
    {_SEEN}
    CROSS JOIN LATERAL (
        SELECT n.*, NOT ({_IS_UNREAD}) AS is_read FROM notifications n
        WHERE {_OF_INBOX} AND n.created_at >= $6 AND (n.created_at, n.id) < ($7, $8) AND (NOT $5 OR ({_IS_UNREAD}))
        {_NEWEST} LIMIT $9::int + $10::int
    ) n
    ORDER BY n.created_at DESC, n.id DESC LIMIT $9 OFFSET $10
"""
COUNT_UNREAD = f"""
    SELECT count(*) FROM (
        SELECT {_SEEN}
        CROSS JOIN LATERAL (
            SELECT FROM notifications n WHERE {_OF_INBOX} AND {_IS_UNREAD} {_NEWEST} LIMIT $5
        ) n
        LIMIT $5
    ) unread
"""
MARK_READ = f"""
    WITH found AS (
        SELECT n.* FROM notifications n JOIN unnest($3::text[], $4::text[]) AS seen (kind, mode)
            ON n.kind = seen.kind AND n.mode = seen.mode
        WHERE n.id = $5 AND n.merchant_id = $1 AND (n.user_id IS NULL OR n.user_id = $2)
    ), read AS (
        INSERT INTO notification_reads (merchant_id, notification_id, user_id)
        SELECT $1, id, $2 FROM found ON CONFLICT DO NOTHING
    )
    SELECT {_SHOWN}, true AS is_read FROM found n
"""
MARK_ALL_READ = """
    INSERT INTO notification_marks AS k (merchant_id, user_id, mode, through_at)
    SELECT $1, $2, mode, $4 FROM unnest($3::text[]) AS mode
    ON CONFLICT (merchant_id, user_id, mode) DO UPDATE SET through_at = greatest(k.through_at, EXCLUDED.through_at)
"""
MARK_LATEST_READ = f"""
    INSERT INTO notification_reads (merchant_id, notification_id, user_id)
    SELECT $1, n.id, $2 FROM unnest($3::text[], $4::text[]) AS seen (kind, mode)
    JOIN notifications n ON {_OF_INBOX} AND n.created_at > $5
    ON CONFLICT DO NOTHING
"""
DELETE_OLD = """
    DELETE FROM notifications WHERE (merchant_id, id) IN (
        SELECT merchant_id, id FROM notifications WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
# By the kinds whose facts name members.
DELETE_OF_USER = """
    DELETE FROM notifications n USING members m
    WHERE m.user_id = $1 AND n.merchant_id = m.merchant_id
      AND n.kind IN ('connection_opened', 'member_changed', 'new_device')
      AND (n.user_id = $1 OR n.facts ->> 'by' = $2 OR n.facts ->> 'name' = $2)
"""
DELETE_OF_MERCHANT = "DELETE FROM notifications WHERE merchant_id = $1"
PREFERENCES = "SELECT kind, mail FROM notification_preferences WHERE merchant_id = $1 AND user_id = $2"
IS_MEMBER = "SELECT EXISTS (SELECT FROM members WHERE merchant_id = $1 AND user_id = $2 AND removed_at IS NULL)"
SET_PREFERENCES = """
    INSERT INTO notification_preferences AS p (merchant_id, user_id, kind, mail)
    SELECT $1, $2, c.kind, c.mail FROM unnest($3::text[], $4::text[]) AS c (kind, mail) ORDER BY c.kind
    ON CONFLICT (merchant_id, user_id, kind) DO UPDATE SET mail = EXCLUDED.mail
"""
END_DAILY = "UPDATE notification_preferences SET mail = 'never' WHERE merchant_id = $1 AND user_id = $2 AND mail = 'daily'"
# The update waits for a job that may delete the row, and inserts it then.
START_DIGESTS = """
    INSERT INTO notification_digests AS d (merchant_id, user_id, next_at, through_at)
    SELECT $1, $2, $3, $4 ON CONFLICT (merchant_id, user_id) DO UPDATE SET next_at = d.next_at
"""
ZONE = "SELECT time_zone FROM merchants WHERE id = $1"
LOCK_DUE_DIGEST = """
    SELECT d.merchant_id, d.user_id, d.through_at, d.last_on, m.time_zone, m.business_name, u.email, u.language, b.role
    FROM notification_digests d JOIN merchants m ON m.id = d.merchant_id JOIN users u ON u.id = d.user_id
    LEFT JOIN members b ON b.merchant_id = d.merchant_id AND b.user_id = d.user_id AND b.removed_at IS NULL
    WHERE d.next_at <= $1 ORDER BY d.next_at LIMIT 1 FOR UPDATE OF d SKIP LOCKED
"""
COUNT_OF_DIGEST = f"""
    SELECT count(*) FROM unnest($3::text[], $4::text[]) AS seen (kind, mode)
    JOIN notifications n ON {_OF_INBOX} AND n.created_at > $5 AND n.created_at <= $6
"""
ENTRIES_OF_DIGEST = f"""
    SELECT {_SHOWN}, false AS is_read FROM unnest($3::text[], $4::text[]) AS seen (kind, mode)
    CROSS JOIN LATERAL (
        SELECT n.* FROM notifications n WHERE {_OF_INBOX} AND n.created_at > $5 AND n.created_at <= $6
        {_NEWEST} LIMIT $7
    ) n
    ORDER BY n.created_at DESC, n.id DESC LIMIT $7
"""
SET_DIGEST = """
    UPDATE notification_digests SET next_at = $3, through_at = $4, last_on = $5 WHERE merchant_id = $1 AND user_id = $2
"""
DELETE_DIGEST = "DELETE FROM notification_digests WHERE merchant_id = $1 AND user_id = $2"
FACTS = msgspec.json.Decoder(NoticeFacts)


class NewNotification(msgspec.Struct, frozen=True):
    """A notification to insert; with a `user_id` for this member alone."""

    id: UUID
    merchant_id: MerchantId
    mode: NotificationMode
    user_id: UserId | None
    occasion: str
    subject: str | None
    facts: NoticeFacts


async def insert(tx: Tx, event: NotificationEvent, added: Sequence[NewNotification], now: datetime) -> list[MailRecipient]:
    """Insert notifications of an event, but those of an occasion that was before. To whom emails are sent at once."""
    rows = [
        (*msgspec.structs.astuple(each)[:-1], msgspec.json.encode(each.facts).decode())
        for each in added
    ]  # fmt: skip
    kind = KINDS[event]
    found = await tx.fetch(INSERT, kind, event, now, roles_of(kind), *zip(*rows, strict=True))
    return [MailRecipient(**row) for row in found]


async def list_inbox(db: Pool, inbox: Inbox, window: Window, *, unread: bool) -> list[Notification]:
    """Notifications of an inbox, newest first; only unread ones if `unread`."""
    rows = await db.fetch_custom_plan(LIST, *msgspec.structs.astuple(inbox), unread, *msgspec.structs.astuple(window))
    return [_notification(row) for row in rows]


async def count_unread(db: Pool | Tx, inbox: Inbox) -> int:
    """How many are unread, at most 100."""
    [row] = await db.fetch(COUNT_UNREAD, *msgspec.structs.astuple(inbox), NOTIFICATIONS_UNREAD_MAX)
    return row["count"]


async def mark_read(tx: Tx, inbox: Inbox, notification_id: UUID) -> Notification | None:
    """Mark one as read and return it; None if the inbox does not have it."""
    row = await tx.fetchrow(MARK_READ, *msgspec.structs.astuple(inbox), notification_id)
    return None if row is None else _notification(row)


async def mark_all_read(tx: Tx, inbox: Inbox, now: datetime) -> None:
    """Mark all as read that are older than `SETTLED_AFTER`."""
    settled_at = now - SETTLED_AFTER
    modes = sorted(set(inbox.modes))
    await tx.execute(MARK_ALL_READ, inbox.merchant_id, inbox.user_id, modes, settled_at)
    await tx.execute(MARK_LATEST_READ, *msgspec.structs.astuple(inbox), settled_at)


async def delete_of_user(tx: Tx, user_id: UUID, name: str) -> int:
    """Delete what is for a user alone or names the user. Returns how many there were."""
    return await tx.execute(DELETE_OF_USER, user_id, name)


async def delete_of_merchant(tx: Tx, merchant_id: MerchantId) -> int:
    """Delete all notifications of a merchant. Returns how many there were."""
    return await tx.execute(DELETE_OF_MERCHANT, merchant_id)


async def list_preferences(db: Pool | Tx, merchant_id: MerchantId, user_id: UserId) -> dict[NotificationKind, MailChoice]:
    """What a member chose; emails are sent at once for a kind without a choice."""
    return {row["kind"]: row["mail"] for row in await db.fetch(PREFERENCES, merchant_id, user_id)}


async def is_member(tx: Tx, merchant_id: MerchantId, user_id: UserId) -> bool:
    """Whether the person is a member of the merchant."""
    return bool(await tx.fetchval(IS_MEMBER, merchant_id, user_id))


async def set_preferences(
    tx: Tx, merchant_id: MerchantId, user_id: UserId, chosen: dict[NotificationKind, MailChoice]
) -> None:
    """Set what a member chose for these kinds."""
    await tx.execute(SET_PREFERENCES, merchant_id, user_id, list(chosen), list(chosen.values()))


async def end_daily(tx: Tx, merchant_id: MerchantId, user_id: UserId) -> None:
    """Send no emails of the kinds that are sent daily."""
    await tx.execute(END_DAILY, merchant_id, user_id)


async def zone_name(tx: Tx, merchant_id: MerchantId) -> str:
    """The name of the merchant's time zone."""
    return str(await tx.fetchval(ZONE, merchant_id))


async def start_digests(tx: Tx, merchant_id: MerchantId, user_id: UserId, next_at: datetime, now: datetime) -> None:
    """Send daily emails from now on, unless they are sent already."""
    await tx.execute(START_DIGESTS, merchant_id, user_id, next_at, now)


async def lock_due_digest(tx: Tx, now: datetime) -> DueDigest | None:
    """Lock a daily email that is due and that no other worker has."""
    row = await tx.fetchrow(LOCK_DUE_DIGEST, now)
    return None if row is None else DueDigest(**row)


async def read_digest(tx: Tx, inbox: Inbox, since: datetime, until: datetime, limit: int) -> tuple[list[Notification], int]:
    """The newest notifications after `since` and up to `until`, and how many there are."""
    span = (*msgspec.structs.astuple(inbox), since, until)
    count = int(await tx.fetchval(COUNT_OF_DIGEST, *span))
    return [_notification(row) for row in await tx.fetch(ENTRIES_OF_DIGEST, *span, limit)], count


async def set_digest(tx: Tx, due: DueDigest, next_at: datetime, through_at: datetime, last_on: date | None) -> None:
    """Set what the next daily email has, and when it is sent."""
    await tx.execute(SET_DIGEST, due.merchant_id, due.user_id, next_at, through_at, last_on)


async def delete_digest(tx: Tx, due: DueDigest) -> None:
    """Send no daily emails any more."""
    await tx.execute(DELETE_DIGEST, due.merchant_id, due.user_id)


def _notification(row: Row) -> Notification:
    members: dict[str, Any] = {**row, "facts": FACTS.decode(row["facts"])}
    return Notification(**members)
