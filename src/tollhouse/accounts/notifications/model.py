"""Notifications as rows and as members see them, and which kinds a member may see."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.mail.model import ALWAYS_SENT, NotificationEvent, NotificationKind
from tollhouse.accounts.mail.notices import Notice, NoticeFacts, notice_of, path_of
from tollhouse.http.languages import ENGLISH
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import MerchantId, Mode, UserId
from tollhouse.kernel.roles import ROLES, Permission, Role, may

MailChoice = Literal["immediate", "daily", "never"]
"""When emails are sent.

immediate: At once.
daily: Together with others, once a day.
never: Not at all. The inbox has the notification all the same.
"""
ALL_KINDS: tuple[NotificationKind, ...] = get_args(NotificationKind)
CHOOSABLE: tuple[NotificationKind, ...] = tuple(kind for kind in ALL_KINDS if kind not in ALWAYS_SENT)
"""The kinds whose emails a member can turn off."""
OF_BOTH_MODES: frozenset[NotificationKind] = frozenset({"new_device", "member_changed"})
"""About the account: they are in the inbox of either mode."""
MODES: tuple[Mode, ...] = ("live", "test")
NotificationMode = Literal["live", "test", "both"]
PERMISSIONS: Mapping[NotificationKind, Permission] = {
    "payment_needs_decision": "payments",
    "proposal_waiting": "proposals",
    "dispute_opened": "payments",
    "refund_failed": "refunds",
    "withdrawal_reviewed": "money",
    "withdrawal_completed": "money",
    "withdrawal_failed": "money",
    "second_member_needed": "money",
    "project_reviewed": "settings",
    "webhooks_failing": "developers",
    "connection_opened": "connections",
    "connection_ended": "connections",
    "connection_expiring": "connections",
    "new_device": "own",
    "member_changed": "team",
}
"""Members are notified of what they may act on. Who may only read is notified of everything but members."""


def visible_kinds(role: Role, mode: Mode) -> frozenset[NotificationKind]:
    """The kinds that a member of this role sees in the inbox of a mode."""
    if role == "read_only":
        return frozenset(ALL_KINDS) - {"member_changed"}
    return frozenset(kind for kind in ALL_KINDS if may(role, PERMISSIONS[kind], mode))


def roles_of(kind: NotificationKind) -> list[Role]:
    """The roles whose members get emails of a kind: those that see it in live mode."""
    return [role for role in ROLES if kind in visible_kinds(role, "live")]


class Inbox(Struct, frozen=True):
    """The rows of a member's inbox in one mode: kinds, each with the mode of its rows."""

    merchant_id: MerchantId
    user_id: UserId
    kinds: list[NotificationKind]
    modes: list[NotificationMode]


def inbox_of(
    merchant_id: MerchantId, user_id: UserId, role: Role, mode: Mode, kinds: Collection[NotificationKind] = ALL_KINDS
) -> Inbox:
    """What a member of this role sees in a mode, of these kinds."""
    seen: list[NotificationKind] = [kind for kind in ALL_KINDS if kind in kinds and kind in visible_kinds(role, mode)]
    return Inbox(merchant_id, user_id, seen, ["both" if kind in OF_BOTH_MODES else mode for kind in seen])


def whole_inbox(merchant_id: MerchantId, user_id: UserId, role: Role) -> Inbox:
    """What a member of this role sees in both modes."""
    live, test = (inbox_of(merchant_id, user_id, role, mode) for mode in MODES)
    return Inbox(merchant_id, user_id, live.kinds + test.kinds, live.modes + test.modes)


class Notification(Struct, frozen=True):
    """A notification as one member sees it."""

    id: UUID
    kind: NotificationKind
    event: NotificationEvent
    mode: NotificationMode
    subject: str | None
    facts: NoticeFacts
    created_at: datetime
    is_read: bool

    @property
    def path(self) -> str:
        """The page that it leads to."""
        return path_of(self.event, self.mode, self.subject)

    def notice(self, formats: Formats) -> Notice:
        """What it says, in a language."""
        return notice_of(self.event, self.facts.formatted(formats))


class NotificationView(Struct, frozen=True, kw_only=True):
    """A notification to the person of the session."""

    id: UUID
    kind: NotificationKind
    """What the notification is about; emails are chosen for each kind."""
    event: Annotated[NotificationEvent, example("withdrawal_completed")]
    """What happened."""
    mode: Mode | None
    """`null`: about the account."""
    subject: Annotated[str | None, example("0198a4b2-7c31-7f7a-9b1e-3f2a6c5d4e10")]
    """The ID of the object."""
    title: Annotated[str, example("Withdrawal completed: €42.00")]
    """In English, with amounts as they are shown."""
    detail: Annotated[str, example("Your withdrawal of €42.00 to NL91 … 4300 was sent.")]
    """One sentence, in English."""
    path: Annotated[str, example("/live/withdrawals/0198a4b2-7c31-7f7a-9b1e-3f2a6c5d4e10")]
    """The page of the object in the dashboard."""
    read: bool
    """Whether the person of the session has read it."""
    created_at: Timestamp

    @staticmethod
    def of(notification: Notification) -> "NotificationView":
        """The view of a row."""
        notice = notification.notice(Formats(ENGLISH))
        return NotificationView(
            id=notification.id,
            kind=notification.kind,
            event=notification.event,
            mode=None if notification.mode == "both" else notification.mode,
            subject=notification.subject,
            title=str(notice.title),
            detail=str(notice.detail),
            path=notification.path,
            read=notification.is_read,
            created_at=stamp(notification.created_at),
        )


class PreferenceView(Struct, frozen=True):
    """When emails of a kind are sent to the person."""

    kind: NotificationKind
    """Kind of notification that this is chosen for."""
    mail: MailChoice
    """When emails of this kind are sent."""
    can_be_changed: bool = True
    """`false`: emails about the security of the person's own account are always sent."""


class MailRecipient(Struct, frozen=True):
    """A member to whom an email about a new notification is sent at once."""

    notification_id: UUID
    merchant_id: MerchantId
    business_name: str
    user_id: UserId
    email: str
    language: str


class DueDigest(Struct, frozen=True):
    """A daily email that is due, and locked. `role` is None if the person is no member any more."""

    merchant_id: MerchantId
    user_id: UserId
    through_at: datetime
    last_on: date | None
    time_zone: str
    business_name: str
    email: str
    language: str
    role: Role | None
