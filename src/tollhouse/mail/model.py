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
}
Status = Literal["waiting", "sent", "shown", "given_up"]


class Email(Struct, frozen=True):
    """An email to enqueue. `facts` are the values of its template; they must not be secrets.

    A `reset` without `user_id` gets its address when it is sent: until then `recipient` is an `email_key`, which may have no
    account.
    """

    kind: EmailKind
    recipient: str
    language: str
    user_id: UUID | None = None
    facts: dict[str, str] = msgspec.field(default_factory=dict[str, str])


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
