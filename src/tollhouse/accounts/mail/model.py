"""The kinds of email, how long each is useful, and its state in the outbox."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.limits import MAIL_NOTICE_S, MAIL_RETRY_AFTER_S, RESET_LINK_S, VERIFY_LINK_S

EmailKind = Literal[
    "verify",
    "reset",
    "password_changed",
    "new_device",
    "factor_on",
    "factor_off",
    "receipt",
    "recipient_added",
    "recipients_only_off",
    "schedule_failed",
    "dispute_opened",
    "withdrawal_completed",
    "withdrawal_failed",
    "withdrawal_rejected",
    "refund_failed",
    "project_approved",
    "project_rejected",
    "project_changes_approved",
    "project_changes_rejected",
    "webhooks_failing",
    "application_connected",
    "application_disconnected",
]
LinkKind = Literal["verify", "reset"]
LINK_KINDS: tuple[LinkKind, ...] = ("verify", "reset")
LIFETIMES_S: dict[EmailKind, int] = {
    "verify": VERIFY_LINK_S,
    "reset": RESET_LINK_S,
    "password_changed": MAIL_NOTICE_S,
    "new_device": MAIL_NOTICE_S,
    "factor_on": MAIL_NOTICE_S,
    "factor_off": MAIL_NOTICE_S,
    "receipt": MAIL_NOTICE_S,
    "recipient_added": MAIL_NOTICE_S,
    "recipients_only_off": MAIL_NOTICE_S,
    "schedule_failed": MAIL_NOTICE_S,
    "dispute_opened": MAIL_NOTICE_S,
    "withdrawal_completed": MAIL_NOTICE_S,
    "withdrawal_failed": MAIL_NOTICE_S,
    "withdrawal_rejected": MAIL_NOTICE_S,
    "refund_failed": MAIL_NOTICE_S,
    "project_approved": MAIL_NOTICE_S,
    "project_rejected": MAIL_NOTICE_S,
    "project_changes_approved": MAIL_NOTICE_S,
    "project_changes_rejected": MAIL_NOTICE_S,
    "webhooks_failing": MAIL_NOTICE_S,
    "application_connected": MAIL_NOTICE_S,
    "application_disconnected": MAIL_NOTICE_S,
}
NotificationTopic = Literal["disputes", "withdrawals", "refunds", "projects", "webhooks", "applications"]
TOPICS: dict[EmailKind, NotificationTopic] = {
    "dispute_opened": "disputes",
    "schedule_failed": "withdrawals",
    "withdrawal_completed": "withdrawals",
    "withdrawal_failed": "withdrawals",
    "withdrawal_rejected": "withdrawals",
    "refund_failed": "refunds",
    "project_approved": "projects",
    "project_rejected": "projects",
    "project_changes_approved": "projects",
    "project_changes_rejected": "projects",
    "webhooks_failing": "webhooks",
    "application_connected": "applications",
    "application_disconnected": "applications",
}
"""The kinds that a person can turn off, by topic. All others are about the security of the account, or asked for."""
Status = Literal["waiting", "sent", "shown", "given_up"]


class Email(Struct, frozen=True):
    """An email to enqueue. `facts` are the values of its template; they must not be secrets.

    A user gets one email of a kind for each `occasion`, however often it is enqueued.

    A `reset` without `user_id` gets its address when it is sent: until then `recipient` is an `email_key`, which may have no
    account.
    """

    kind: EmailKind
    recipient: str
    language: str
    user_id: UUID | None = None
    facts: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    occasion: str | None = None


class QueuedEmail(Struct, frozen=True):
    """An email in the outbox. `attempts` identifies the current attempt in compare-and-set statements."""

    id: UUID
    email: Email
    created_at: datetime
    useful_until: datetime
    attempts: int


class EmailSummary(Struct, frozen=True):
    """An email in the list that operators see."""

    mail_id: UUID
    kind: EmailKind
    recipient: str
    status: Status
    attempts: int
    error: str | None
    created_at: Timestamp
    ended_at: Timestamp | None


def lifetime_of(kind: EmailKind) -> timedelta:
    """How long the email is useful, or its link valid."""
    return timedelta(seconds=LIFETIMES_S[kind])


def retry_delay(attempts: int) -> timedelta | None:
    """The delay before the next attempt after this many; None when there is none."""
    return timedelta(seconds=MAIL_RETRY_AFTER_S[attempts - 1]) if attempts <= len(MAIL_RETRY_AFTER_S) else None
