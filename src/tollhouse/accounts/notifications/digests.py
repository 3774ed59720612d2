"""The daily email of a member: one for each day of the merchant's time zone, with what happened since the last one.

Each is written in one transaction with the time up to which it has been told: it is enqueued once, whatever happens to
the worker. A day without notifications has none.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo

import msgspec

from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.contents import DigestEntry
from tollhouse.accounts.mail.model import Email, NotificationKind
from tollhouse.accounts.notifications import store
from tollhouse.accounts.notifications.model import DueDigest, Notification, inbox_of
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.clock import stamp, zone_of
from tollhouse.kernel.limits import DIGEST_ENTRIES_MAX, DIGEST_HOUR


def next_digest(now: datetime, zone: tzinfo, last_on: date | None) -> datetime:
    """The next morning in this time zone, on a day after the last one."""
    there = now.astimezone(zone)
    day = there.date() if there.hour < DIGEST_HOUR else there.date() + timedelta(days=1)
    if last_on is not None:
        day = max(day, last_on + timedelta(days=1))
    return datetime.combine(day, time(DIGEST_HOUR), zone).astimezone(UTC)


async def send_due(services: Services) -> None:
    """Enqueue the daily emails that are due, each in a transaction of its own."""
    now = clock.now()
    while await services.transact(send_one, now):
        pass


async def send_one(work: Work) -> bool:
    """Enqueue the daily email that is due for the longest; False if none is."""
    due = await store.lock_due_digest(work.tx, work.now)
    if due is None:
        return False
    chosen = await store.list_preferences(work.tx, due.merchant_id, due.user_id)
    daily: set[NotificationKind] = {kind for kind, mail in chosen.items() if mail == "daily"}
    if due.role is None or not daily:
        await store.delete_digest(work.tx, due)
        return True
    zone = zone_of(due.time_zone)
    there = work.now.astimezone(zone)
    if there.hour < DIGEST_HOUR or there.date() == due.last_on:  # the time zone of the merchant was changed
        await store.set_digest(work.tx, due, next_digest(work.now, zone, due.last_on), due.through_at, due.last_on)
        return True
    until = work.now - store.SETTLED_AFTER
    inbox = inbox_of(due.merchant_id, due.user_id, due.role, "live", daily)
    entries, count = await store.read_digest(work.tx, inbox, due.through_at, until, DIGEST_ENTRIES_MAX)
    if entries:
        await outbox.enqueue(work.tx, _email(due, entries, count, there.date()), work.now)
    await store.set_digest(work.tx, due, next_digest(work.now, zone, there.date()), until, there.date())
    return True


def _email(due: DueDigest, entries: list[Notification], count: int, day: date) -> Email:
    listed = [DigestEntry(entry.event, entry.facts, stamp(entry.created_at)) for entry in entries]
    facts = {
        "merchant": str(due.merchant_id),
        "business": due.business_name,
        "count": str(count),
        "entries": msgspec.json.encode(listed).decode(),
    }
    return Email("digest", due.email, due.language, due.user_id, facts, f"{due.merchant_id} {day}")
