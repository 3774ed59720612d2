"""Pages of notifications: the inbox of a mode, which emails are sent, and the link of an email that stops them."""

from typing import Any, Literal, get_args
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import anyone, signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.mail.labels import KIND_TITLES
from tollhouse.accounts.mail.links import Subscription, parse_unsubscribe_token
from tollhouse.accounts.mail.model import NotificationKind
from tollhouse.accounts.notifications import preferences, store
from tollhouse.accounts.notifications.labels import CHOICES
from tollhouse.accounts.notifications.model import ALL_KINDS, CHOOSABLE, MailChoice, Notification, inbox_of, visible_kinds
from tollhouse.http.forms import flash_message
from tollhouse.http.lists import LongPageQuery
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
INBOX = "/{mode}/notifications"
SETTINGS = "/settings/notifications"
UNSUBSCRIBE = "/unsubscribe/{token}"


class InboxQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """Filters of the inbox."""

    kind: NotificationKind | None = None
    unread: Literal["", "true"] = ""
    done: Literal["", "read"] = ""


@OPERATIONS.add("GET", INBOX, guard=signed_in_page("own"))
async def inbox(request: Request, caller: Person, env: MerchantEnv, query: InboxQuery) -> Response:
    """The notifications of a mode and of the account, newest first."""
    seen = visible_kinds(caller.role, env.mode)
    mine = inbox_of(env.merchant_id, caller.user_id, caller.role, env.mode, (query.kind,) if query.kind else ALL_KINDS)
    found, more = query.cut(await store.list_inbox(request.services.db, mine, query.window, unread=query.unread == "true"))
    formats = formats_of(request)
    return render(
        request,
        caller,
        "notifications/inbox",
        here="inbox",
        query=query,
        notifications=[_view(notification, formats) for notification in found],
        kinds=[(kind, title) for kind, title in KIND_TITLES.items() if kind in seen],
        page_links=query.links(found, more=more),
        done=query.done,
    )


@OPERATIONS.add("POST", f"{INBOX}/read", guard=signed_in_page_while_suspended("own"))
async def read_all(caller: Person, env: MerchantEnv, work: Work) -> Response:
    """Mark all notifications of the inbox as read."""
    mine = inbox_of(env.merchant_id, caller.user_id, caller.role, env.mode)
    await store.mark_all_read(work.tx, mine, work.now)
    return see_other(f"/{env.mode}/notifications?done=read")


@OPERATIONS.add("POST", f"{INBOX}/{{notification_id}}/read", guard=signed_in_page_while_suspended("own"))
async def read(caller: Person, env: MerchantEnv, notification_id: UUID, query: InboxQuery, work: Work) -> Response:
    """Mark one notification as read, and return to the page of the inbox."""
    mine = inbox_of(env.merchant_id, caller.user_id, caller.role, env.mode)
    if await store.mark_read(work.tx, mine, notification_id) is None:
        raise NotFound
    return see_other(f"/{env.mode}/notifications{query.address(query.page)}")


@OPERATIONS.add("GET", SETTINGS, guard=signed_in_page("own"))
async def show(request: Request, caller: Person) -> Response:
    """The kinds of notifications, with when emails of each are sent."""
    choices = await preferences.list_choices(request.services.db, caller.merchant_id, caller.user_id, caller.role)
    return render(
        request,
        caller,
        "settings/notifications",
        here="notifications",
        preferences=[(choice, KIND_TITLES[choice.kind]) for choice in choices],
        choices=CHOICES.items(),
        has_relay=request.services.settings.smtp is not None,
        saved=flash_message(request.query) == "saved",
    )


@OPERATIONS.add("POST", SETTINGS, guard=signed_in_page("own"))
async def save(request: Request, caller: Person, work: Work) -> Response:
    """Set when emails are sent of the kinds that the form has."""
    form = request.form()
    chosen: dict[NotificationKind, MailChoice] = {}
    for kind in CHOOSABLE:
        for choice in get_args(MailChoice):
            if form.one(kind) == choice:
                chosen[kind] = choice
    await preferences.choose(work, caller.merchant_id, caller.user_id, chosen)
    return see_other(f"{SETTINGS}?done=saved")


@OPERATIONS.add("GET", UNSUBSCRIBE, guard=anyone)
async def unsubscribe_page(request: Request, token: str) -> Response:
    """What the link stops, and the button that does it."""
    return _unsubscribe(request, _subscription(request, token), done=False)


@OPERATIONS.add("POST", UNSUBSCRIBE, guard=anyone)
async def unsubscribe(request: Request, token: str) -> Response:
    """Stop the emails, for the button and for mail programs (RFC 8058). No session is needed; repeated, it is the same."""
    subscription = _subscription(request, token)
    await request.transact(lambda work: preferences.unsubscribe(work, subscription))
    return _unsubscribe(request, subscription, done=True)


def _subscription(request: Request, token: str) -> Subscription:
    subscription = parse_unsubscribe_token(request.services.keys, token)
    if subscription is None:
        raise NotFound
    return subscription


def _unsubscribe(request: Request, subscription: Subscription, *, done: bool) -> Response:
    topic = subscription.topic
    title = "" if topic == "digest" else KIND_TITLES[topic]
    return page(request, "dashboard/account/unsubscribe.html", title=title, done=done)


def _view(notification: Notification, formats: Formats) -> dict[str, Any]:
    notice = notification.notice(formats)
    return {
        "id": notification.id,
        "title": notice.title,
        "detail": notice.detail,
        "path": notification.path,
        "created_at": notification.created_at,
        "is_read": notification.is_read,
    }
