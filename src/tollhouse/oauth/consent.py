"""The consent page: a merchant sees who asks for what, picks, and allows or denies.

A request belongs to the first merchant that opens it. Its form carries a token bound to the session and the request; the
answer is one compare-and-set, so a second click, a second tab or a late change of the settings finds nothing to answer.
"""

import base64
import binascii
from datetime import datetime
from typing import Any, NamedTuple

from starlette.responses import Response

from tollhouse.audit import record
from tollhouse.audit.changes import made
from tollhouse.callers import sessions, sessions_store
from tollhouse.callers.guards import visitor
from tollhouse.callers.model import Person, SignInFirst
from tollhouse.callers.stepup import reauthenticate
from tollhouse.callers.verified import EmailUnverified, require_verified_email
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import Forbidden, InvalidRequest, NotFound
from tollhouse.kernel.scopes import PERMISSIONS, Permission, Scopes
from tollhouse.oauth import callbacks, requests_store
from tollhouse.oauth.authorize import REQUEST_ID
from tollhouse.oauth.model import CONNECTIONS_COUNTED, ConsentRequest
from tollhouse.platform.db import Tx
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import Form
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
PURPOSE = b"consent form:"
MAC_BYTES = 32
GROUPS = (
    ("read", "Read"),
    ("write", "Change data or move money"),
    ("offline", "Stay connected"),
)
LINES_SHOWN, CHARS_SHOWN = 4, 320
SENSITIVE = scopes.parse(one.scope for one in PERMISSIONS if one.access != "read") or Scopes(0)
"""What writes, and offline_access: granted in live mode by who authenticated recently."""
PRESELECTED = scopes.parse(permission.scope for permission in PERMISSIONS if permission.default_selected)


class Stop(NamedTuple):
    """Why there is no form any more: a status, what happened, and what can be done."""

    status: int
    title: str
    advice: str
    another_account: bool = False
    """Whether somebody else may still answer."""


class Choice(NamedTuple):
    """One checkbox."""

    permission: Permission
    ticked: bool


class Group(NamedTuple):
    """Checkboxes of one kind of access."""

    title: str
    choices: list[Choice]


@OPERATIONS.add("GET", "/oauth/consent/{request_id}", guard=visitor, refuses=(SignInFirst, NotFound))
async def show(ask: Ask, request_id: str) -> Response:
    """What an application asks for, with the reading permissions ticked."""
    person, request = await _open(ask, request_id)
    stop = _stop(ask.now, person, request)
    if stop is not None:
        return _stopped(ask, request_id, person, request, stop)
    return _form(ask, request_id, person, request, ticked=PRESELECTED or Scopes(0))


@OPERATIONS.add(
    "POST",
    "/oauth/consent/{request_id}",
    guard=visitor,
    refuses=(SignInFirst, NotFound, Forbidden, InvalidRequest, EmailUnverified),
    recent_authentication="by_content",
)
async def decide(ask: Ask, request_id: str) -> Response:
    """The merchant's answer: back to the application with a code, or with access_denied."""
    person, request = await _open(ask, request_id)
    form = ask.form()
    _refuse_foreign_form(ask, form, person, request_id)
    decision = form.one("decision")
    if decision not in {"allow", "deny"}:
        raise InvalidRequest("Allow or deny.")
    stop = _stop(ask.now, person, request)
    if stop is not None:
        return _stopped(ask, request_id, person, request, stop)
    return await (_allow if decision == "allow" else _deny)(ask, request_id, person, request, form)


@OPERATIONS.add(
    "POST", "/oauth/consent/{request_id}/switch", guard=visitor, refuses=(SignInFirst, NotFound, Forbidden, InvalidRequest)
)
async def use_another_account(ask: Ask, request_id: str) -> Response:
    """Sign out, and in again as somebody else. The request is kept, and belongs to the merchant that opens it next."""
    person, request = await _open(ask, request_id)
    _refuse_foreign_form(ask, ask.form(), person, request_id)
    await requests_store.release(ask.house.db, request)
    return await sessions.end(ask, see_other(f"/signin?request={request_id}"))


async def _allow(ask: Ask, request_id: str, person: Person, request: ConsentRequest, form: Form) -> Response:
    ticked = scopes.parse(name for name in form.all("scope") if name in scopes.ALL) or Scopes(0)
    if not (ticked & request.scopes).has_api:
        return _form(ask, request_id, person, request, ticked=ticked, nothing_ticked=True)
    env = MerchantEnv(person.merchant_id, request.mode)
    await require_verified_email(ask.house.db, ask.house.settings, env, person)
    if env.livemode and ticked & request.scopes & SENSITIVE:
        person = await reauthenticate(ask, person, free_redirect=True)
    code = tokens.mint("thac")
    code_expires_at = ask.now + clock.seconds(ask.house.settings.authorization_code_ttl)

    async def deed(tx: Tx) -> bool:
        if not await sessions_store.hold(tx, person.session_hash):
            raise SignInFirst(f"/signin?request={request_id}")
        if not await requests_store.allow(tx, request, ticked, tokens.digest(code), ask.now, code_expires_at):
            return False
        given = made(scopes=(ticked & request.scopes).names())
        await record.note(tx, env, "grant.given", ask.now, subject=request.client_id, name=request.name, changed=given)
        return True

    if not await ask.house.db.transact(deed):
        return await _too_late(ask, request_id)
    return _return(ask, request, code=code)


async def _deny(ask: Ask, request_id: str, _person: Person, request: ConsentRequest, _form: Form) -> Response:
    if not await requests_store.deny(ask.house.db, request, ask.now):
        return await _too_late(ask, request_id)
    return _return(ask, request, error="access_denied", error_description="The merchant denied the request.")


async def _too_late(ask: Ask, request_id: str) -> Response:
    """Somebody answered, or something changed, between our look and our answer: say what."""
    person, request = await _open(ask, request_id)
    stop = _stop(ask.now, person, request)
    if stop is None:
        raise AssertionError("a request that cannot be answered is in a state that says why")
    return _stopped(ask, request_id, person, request, stop)


async def _open(ask: Ask, request_id: str) -> tuple[Person, ConsentRequest]:
    if REQUEST_ID.fullmatch(request_id) is None:
        raise NotFound
    person = await sessions.person_of(ask)
    if person is None:
        raise SignInFirst(f"/signin?request={request_id}")
    request = await requests_store.open_for(ask.house.db, tokens.digest(request_id), person.merchant_id, ask.now)
    if request is None:
        raise NotFound
    return person, request


def _stop(now: datetime, person: Person, request: ConsentRequest) -> Stop | None:
    """Why this request cannot be answered, by the first reason that holds; None while it can."""
    if request.decision is not None:
        return Stop(409, "This request was already answered", "Nothing more was done. You can close this page.")
    if now >= request.expires_at:
        return Stop(410, "This request has expired", "A request waits for ten minutes. Start again from the application.")
    if request.client_status != "enabled" or request.client_suspended:
        advice = "It is suspended." if request.client_suspended else "Its owner paused or withdrew it."
        return Stop(409, "This application takes no new connections", advice)
    if request.settings_changed:
        return Stop(409, "The application changed its settings", "Start again from the application.")
    if person.suspended:
        advice = "It cannot be connected to applications for now."
        return Stop(403, "Your merchant account is suspended", advice, another_account=True)
    return None


def _stopped(ask: Ask, request_id: str, person: Person, request: ConsentRequest, stop: Stop) -> Response:
    return page(
        ask,
        "oauth/stopped.html",
        stop.status,
        person=person,
        request=request,
        stop=stop,
        website=_website(request),
        **_form_parts(ask, request_id, person),
    )


def _form(
    ask: Ask, request_id: str, person: Person, request: ConsentRequest, *, ticked: Scopes, nothing_ticked: bool = False
) -> Response:
    return page(
        ask,
        "oauth/consent.html",
        422 if nothing_ticked else 200,
        free_redirect=True,
        person=person,
        request=request,
        website=_website(request),
        callback_origin=callbacks.origin_of(request.redirect_uri),
        groups=_groups(request.scopes, ticked),
        connections=_counted(request.connections),
        access_ends=_span(ask.house.settings.grant_ttl),
        description=_folded(request.description),
        nothing_ticked=nothing_ticked,
        **_form_parts(ask, request_id, person),
    )


def _form_parts(ask: Ask, request_id: str, person: Person) -> dict[str, Any]:
    """Where the forms of a request go, and the token without which they count for nothing."""
    return {
        "form_token": base64.urlsafe_b64encode(ask.house.keys.mac(_bound(person, request_id))).decode(),
        "form_action": f"/oauth/consent/{request_id}",
        "switch_action": f"/oauth/consent/{request_id}/switch",
    }


def _folded(description: str) -> tuple[str, str]:
    """The first lines of a description, and the rest, which the page folds away."""
    shown = "".join(description.splitlines(keepends=True)[:LINES_SHOWN])
    if len(shown) > CHARS_SHOWN:
        shown = shown[:CHARS_SHOWN].rpartition(" ")[0] or shown[:CHARS_SHOWN]
    return shown.rstrip(), description[len(shown) :].strip()


def _span(seconds: int) -> str:
    """A lifetime in the largest unit that says it: `30 days`."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}{'' if seconds // length == 1 else 's'}"
    return f"{seconds} seconds"


def _counted(connections: int) -> str:
    """`1 active connection`; above a thousand only that there are more."""
    if connections > CONNECTIONS_COUNTED:
        return f"more than {CONNECTIONS_COUNTED:,} active connections"
    return "1 active connection" if connections == 1 else f"{connections:,} active connections"


def _groups(asked: Scopes, ticked: Scopes) -> list[Group]:
    groups: list[Group] = []
    for access, title in GROUPS:
        choices = [
            Choice(permission, permission.scope in ticked)
            for permission in PERMISSIONS
            if permission.access == access and permission.scope in asked
        ]
        if choices:
            groups.append(Group(title, choices))
    return groups


def _website(request: ConsentRequest) -> str | None:
    return callbacks.host_of(request.website_url) if request.website_url else None


def _refuse_foreign_form(ask: Ask, form: Form, person: Person, request_id: str) -> None:
    try:
        mac = base64.b64decode(form.one("form_token") or "", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Forbidden from None
    if len(mac) != MAC_BYTES or not ask.house.keys.vouches(_bound(person, request_id), mac):
        raise Forbidden


def _bound(person: Person, request_id: str) -> bytes:
    return PURPOSE + person.session_id.bytes + request_id.encode()


def _return(ask: Ask, request: ConsentRequest, **outcome: str) -> Response:
    return see_other(callbacks.answer(request.redirect_uri, **outcome, state=request.state, iss=ask.house.settings.base_url))
