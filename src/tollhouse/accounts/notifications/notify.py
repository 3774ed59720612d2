"""Notifying the members of a merchant of what happened, in the transaction in which it happens.

The inbox has every notification. Each member who may see its kind, and chose emails of it at once, is sent one for live mode
and the account; test mode sends none. Daily emails are collected from the inbox by `digests`.
"""

from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, NotificationEvent
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications import store
from tollhouse.accounts.notifications.store import NewNotification
from tollhouse.http.services import Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, UserId, new_id


class Occurrence(Struct, frozen=True):
    """What to notify of. `scope` is one environment, or the merchant for both modes.

    `occasion` makes it happen once: the same one again is not recorded. `subject` is the ID of the object, for its page.
    No email is sent to `mailed`, who gets another one about the same.
    """

    scope: MerchantEnv | MerchantId
    occasion: object
    facts: NoticeFacts
    subject: UUID | str | None = None
    user_id: UserId | None = None
    mailed: UUID | None = None


async def notify_members(work: Work, event: NotificationEvent, *occurrences: Occurrence) -> None:
    """Record notifications in one statement, and enqueue the emails that are sent at once in another one."""
    added = {row.id: row for row in map(_row, occurrences)}
    mailed = dict(zip(added, (occurrence.mailed for occurrence in occurrences), strict=True))
    recipients = await store.insert(work.tx, event, list(added.values()), clock.now()) if added else []
    emails = [
        Email(
            event,
            recipient.email,
            recipient.language,
            recipient.user_id,
            _mail_facts(added[recipient.notification_id], recipient.business_name),
            str(recipient.notification_id),
        )
        for recipient in recipients
        if recipient.user_id != mailed[recipient.notification_id]
    ]
    await outbox.enqueue_all(work.tx, emails, work.now)


def _row(occurrence: Occurrence) -> NewNotification:
    scope = occurrence.scope
    merchant_id, mode = (scope.merchant_id, scope.mode) if isinstance(scope, MerchantEnv) else (scope, "both")
    subject = None if occurrence.subject is None else str(occurrence.subject)
    return NewNotification(
        new_id(), merchant_id, mode, occurrence.user_id, str(occurrence.occasion), subject, occurrence.facts
    )


def _mail_facts(row: NewNotification, business_name: str) -> dict[str, str]:
    facts: dict[str, str] = msgspec.to_builtins(row.facts)
    about = {"merchant": str(row.merchant_id), "business": business_name, "mode": row.mode}
    return facts | about | ({} if row.subject is None else {"subject": row.subject})
