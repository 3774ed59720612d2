"""The kinds of email, how long each is useful, its state in the outbox, and names that are safe in an email."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal
from unicodedata import normalize
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.limits import (
    ADDRESS_LINK_S,
    ADDRESS_UNDO_S,
    INVITATION_S,
    MAIL_NOTICE_S,
    MAIL_RETRY_AFTER_S,
    RESET_LINK_S,
    VERIFY_LINK_S,
)
from tollhouse.kernel.names import is_readable

NotificationEvent = Literal[
    "payment_needs_decision",
    "proposal_waiting",
    "dispute_opened",
    "refund_failed",
    "withdrawal_approved",
    "withdrawal_rejected",
    "withdrawal_completed",
    "withdrawal_failed",
    "schedule_failed",
    "withdrawal_needs_member",
    "refund_needs_member",
    "second_member_rule",
    "project_approved",
    "project_rejected",
    "project_changes_approved",
    "project_changes_rejected",
    "webhooks_failing",
    "application_connected",
    "application_disconnected",
    "application_expiring",
    "new_device",
    "member_joined",
    "member_removed",
    "member_role_changed",
]
"""What members are notified of: `accounts.notifications`.

payment_needs_decision: Money was received that could not be credited.
proposal_waiting: A connection or an API key proposed something.
dispute_opened: A customer disputed a payment.
refund_failed: A refund failed.
withdrawal_approved: A withdrawal was approved in review.
withdrawal_rejected: A withdrawal was rejected in review.
withdrawal_completed: A withdrawal was sent.
withdrawal_failed: A withdrawal failed.
schedule_failed: A scheduled withdrawal was not created.
withdrawal_needs_member: A withdrawal waits for a second member.
refund_needs_member: A refund waits for a second member.
second_member_rule: A change of the amount above which one is needed waits for a second member.
project_approved: A project was approved.
project_rejected: A project was rejected.
project_changes_approved: Changes of a project were approved.
project_changes_rejected: Changes of a project were rejected.
webhooks_failing: No event could be delivered for an hour.
application_connected: An application was connected.
application_disconnected: A connection of an application ended.
application_expiring: A connection ends soon.
new_device: A new device signed in to the account of the member.
member_joined: A person became a member.
member_removed: A member was removed.
member_role_changed: The role of a member was changed.
"""
EmailKind = Literal[
    "verify",
    "reset",
    "password_changed",
    "factor_on",
    "factor_off",
    "passkey_added",
    "passkey_removed",
    "receipt",
    "recipient_added",
    "recipients_only_off",
    "everything_stopped",
    "application_reported",
    "address_requested",
    "confirm_address",
    "undo_address",
    "address_undone",
    "invitation",
    "team_left",
    "team_role_changed",
    "digest",
    NotificationEvent,
]
LinkKind = Literal["verify", "reset", "confirm_address", "undo_address", "invitation"]
LINK_PATHS: dict[EmailKind, tuple[LinkKind, str]] = {
    "verify": ("verify", "/verify"),
    "reset": ("reset", "/reset"),
    "confirm_address": ("confirm_address", "/address/confirm"),
    "undo_address": ("undo_address", "/address/undo"),
    "invitation": ("invitation", "/invitation"),
}
"""The kinds of email that have a link with a secret, and the path before the secret."""
LINK_FACT = "link_id"
"""The fact with the ID that the secret of the link is made of, where it is not that of the email."""
LIFETIMES_S: dict[EmailKind, int] = {
    "verify": VERIFY_LINK_S,
    "reset": RESET_LINK_S,
    "confirm_address": ADDRESS_LINK_S,
    "undo_address": ADDRESS_UNDO_S,
    "invitation": INVITATION_S,
}
"""How long an email is useful, or its link valid; all others for `MAIL_NOTICE_S`."""
NotificationKind = Literal[
    "payment_needs_decision",
    "proposal_waiting",
    "dispute_opened",
    "refund_failed",
    "withdrawal_reviewed",
    "withdrawal_completed",
    "withdrawal_failed",
    "second_member_needed",
    "project_reviewed",
    "webhooks_failing",
    "connection_opened",
    "connection_ended",
    "connection_expiring",
    "new_device",
    "member_changed",
]
"""Kind of notification.

payment_needs_decision: Money was received that could not be credited.
proposal_waiting: A connection or an API key proposed something.
dispute_opened: A customer disputed a payment.
refund_failed: A refund failed.
withdrawal_reviewed: A withdrawal was approved or rejected in review.
withdrawal_completed: A withdrawal was sent.
withdrawal_failed: A withdrawal failed, or a scheduled one was not created.
second_member_needed: A second member has to approve a withdrawal or refund, or confirm a setting.
project_reviewed: A project or its changes were approved or rejected.
webhooks_failing: No event could be delivered for an hour.
connection_opened: An application was connected.
connection_ended: An application was disconnected.
connection_expiring: A connection ends soon.
new_device: A new device signed in to the account of the member.
member_changed: A member joined or was removed, or a role was changed.
"""
Topic = Literal["digest", NotificationKind]
"""What a link in an email unsubscribes from: one kind, or all daily emails."""
KINDS: Mapping[NotificationEvent, NotificationKind] = {
    "payment_needs_decision": "payment_needs_decision",
    "proposal_waiting": "proposal_waiting",
    "dispute_opened": "dispute_opened",
    "refund_failed": "refund_failed",
    "withdrawal_approved": "withdrawal_reviewed",
    "withdrawal_rejected": "withdrawal_reviewed",
    "withdrawal_completed": "withdrawal_completed",
    "withdrawal_failed": "withdrawal_failed",
    "schedule_failed": "withdrawal_failed",
    "withdrawal_needs_member": "second_member_needed",
    "refund_needs_member": "second_member_needed",
    "second_member_rule": "second_member_needed",
    "project_approved": "project_reviewed",
    "project_rejected": "project_reviewed",
    "project_changes_approved": "project_reviewed",
    "project_changes_rejected": "project_reviewed",
    "webhooks_failing": "webhooks_failing",
    "application_connected": "connection_opened",
    "application_disconnected": "connection_ended",
    "application_expiring": "connection_expiring",
    "new_device": "new_device",
    "member_joined": "member_changed",
    "member_removed": "member_changed",
    "member_role_changed": "member_changed",
}
"""The kind of each event: what a member chooses emails for."""
ALWAYS_SENT: frozenset[NotificationKind] = frozenset({"new_device"})
"""About the security of a person's account: its emails cannot be turned off."""
Status = Literal["waiting", "sent", "shown", "given_up"]

CHARS_MAX = 60
DOUBLE = re.compile(r"[:/\\]{2,}")
DOT = re.compile(r"([.\N{IDEOGRAPHIC FULL STOP}@])(?=[^\W\d])")
ELLIPSIS = "…"


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
    return timedelta(seconds=LIFETIMES_S.get(kind, MAIL_NOTICE_S))


def retry_delay(attempts: int) -> timedelta | None:
    """The delay before the next attempt after this many; None when there is none."""
    return timedelta(seconds=MAIL_RETRY_AFTER_S[attempts - 1]) if attempts <= len(MAIL_RETRY_AFTER_S) else None


def mail_name(text: str, chars_max: int = CHARS_MAX) -> str:
    """The name with a space after each dot or `@` before a letter, and without `://`.

    `shop.example` becomes `shop. example`. Compatibility characters are replaced first, since host names treat them alike.
    """
    plain = "".join(letter if is_readable(letter) else " " for letter in normalize("NFKC", text))
    name = " ".join(DOT.sub(r"\1 ", DOUBLE.sub(" ", plain)).split())
    return name if len(name) <= chars_max else name[: chars_max - 1].rstrip() + ELLIPSIS
