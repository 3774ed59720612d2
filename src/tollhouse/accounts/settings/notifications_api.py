"""The inbox of a person, and which emails are sent, in the dashboard API."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import signed_in, signed_in_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.mail.model import NotificationKind
from tollhouse.accounts.notifications import preferences, store
from tollhouse.accounts.notifications.model import (
    ALL_KINDS,
    CHOOSABLE,
    MailChoice,
    NotificationView,
    PreferenceView,
    inbox_of,
    whole_inbox,
)
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.lists import ListQuery, PageRequest
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(DASHBOARD)
ALWAYS_SENT = "Emails about new devices are always sent."


class NotificationsQuery(ListQuery, frozen=True):
    """Filters of GET /notifications."""

    mode: Mode = "live"
    kind: NotificationKind | None = None
    """Only notifications of this kind."""
    unread: bool = False
    """Whether only unread notifications are listed."""


class NotificationList(Struct, frozen=True):
    """A page of notifications. `unread` counts all in the inbox of the mode, up to 100."""

    notifications: list[NotificationView]
    unread: Annotated[int, example(1)]
    """How many notifications of the mode and of the account are unread, counted up to 100."""
    has_more: bool
    next_cursor: str | None


class ReadNotifications(Struct, frozen=True, forbid_unknown_fields=True):
    """The inbox to mark as read."""

    mode: Mode


class UnreadCount(Struct, frozen=True):
    """How many notifications are unread, up to 100."""

    unread: Annotated[int, example(0)]
    """How many notifications of the mode and of the account are still unread, counted up to 100."""


class Preferences(Struct, frozen=True):
    """When emails of each kind are sent."""

    preferences: list[PreferenceView]


class NewPreference(Struct, frozen=True, forbid_unknown_fields=True):
    """When to send emails of a kind."""

    kind: NotificationKind
    """Kind of notification that this is chosen for."""
    mail: MailChoice
    """When emails of this kind are sent."""


class NewPreferences(Struct, frozen=True, forbid_unknown_fields=True):
    """Kinds that are missing keep what was chosen."""

    preferences: list[NewPreference]

    def chosen(self) -> dict[NotificationKind, MailChoice]:
        """What is chosen for each kind. Raises `ValidationFailed`."""
        if field_errors := list(self._errors()):
            raise ValidationFailed(*field_errors)
        return {each.kind: each.mail for each in self.preferences}

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """Kinds whose emails are always sent."""
        return self._errors()

    def _errors(self) -> Iterator[FieldError]:
        for number, preference in enumerate(self.preferences):
            if preference.kind not in CHOOSABLE:
                yield FieldError(f"preferences[{number}].kind", "invalid_value", ALWAYS_SENT)


@OPERATIONS.add("GET", "/notifications", guard=signed_in("own"), errors=(ValidationFailed,))
async def list_notifications(caller: Person, query: NotificationsQuery, page: PageRequest, db: Pool) -> NotificationList:
    """List notifications. Newest first, those of the mode and of the account that the role of the person may see."""
    whole = inbox_of(caller.merchant_id, caller.user_id, caller.role, query.mode)
    kinds = ALL_KINDS if query.kind is None else (query.kind,)
    filtered = inbox_of(caller.merchant_id, caller.user_id, caller.role, query.mode, kinds)
    found, more, cursor = page.cut(await store.list_inbox(db, filtered, page.window, unread=query.unread))
    views = [NotificationView.of(notification) for notification in found]
    return NotificationList(views, await store.count_unread(db, whole), more, cursor)


@OPERATIONS.add("POST", "/notifications/read-all", guard=signed_in_while_suspended("own"), errors=(ValidationFailed,))
async def read_all_notifications(caller: Person, body: ReadNotifications, work: Work) -> UnreadCount:
    """Mark all notifications as read. Those of the mode and of the account."""
    inbox = inbox_of(caller.merchant_id, caller.user_id, caller.role, body.mode)
    await store.mark_all_read(work.tx, inbox, work.now)
    return UnreadCount(await store.count_unread(work.tx, inbox))


@OPERATIONS.add("POST", "/notifications/{notification_id}/read", guard=signed_in_while_suspended("own"), errors=(NotFound,))
async def read_notification(caller: Person, notification_id: UUID, work: Work) -> NotificationView:
    """Mark a notification as read. It stays in the inbox."""
    inbox = whole_inbox(caller.merchant_id, caller.user_id, caller.role)
    found = await store.mark_read(work.tx, inbox, notification_id)
    if found is None:
        raise NotFound
    return NotificationView.of(found)


@OPERATIONS.add("GET", "/notification-preferences", guard=signed_in("own"))
async def read_notification_preferences(caller: Person, db: Pool) -> Preferences:
    """Retrieve when emails are sent. For each kind that the role of the person may see."""
    return Preferences(await preferences.list_choices(db, caller.merchant_id, caller.user_id, caller.role))


@OPERATIONS.add("PUT", "/notification-preferences", guard=signed_in("own"), errors=(ValidationFailed,))
async def save_notification_preferences(caller: Person, body: NewPreferences, work: Work) -> Preferences:
    """Set when emails are sent. They are only sent for live mode and the account."""
    await preferences.choose(work, caller.merchant_id, caller.user_id, body.chosen())
    return Preferences(await preferences.list_choices(work.tx, caller.merchant_id, caller.user_id, caller.role))
