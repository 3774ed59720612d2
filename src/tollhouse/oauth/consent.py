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
from tollhouse.audit.changes import new_values
from tollhouse.http.forms import Form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity import sessions, sessions_store
from tollhouse.identity.guards import visitor
from tollhouse.identity.model import Person, SignInFirst
from tollhouse.identity.stepup import reauthenticate
from tollhouse.identity.verified import EmailUnverified, require_verified_email
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import Forbidden, InvalidRequest, NotFound
from tollhouse.kernel.scopes import PERMISSIONS, Permission, Scopes
from tollhouse.oauth import redirect_uris, requests_store
from tollhouse.oauth.authorize import REQUEST_ID
from tollhouse.oauth.model import CONNECTIONS_COUNTED, ConsentRequest
from tollhouse.platform.db import Tx

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


@OPERATIONS.add("GET", "/oauth/consent/{request_id}", guard=visitor, errors=(SignInFirst, NotFound))
async def show(request: Request, request_id: str) -> Response:
    """What an application asks for, with the reading permissions ticked."""
    person, consent_request = await _open(request, request_id)
    stop = _stop(request.now, person, consent_request)
    if stop is not None:
        return _stopped(request, request_id, person, consent_request, stop)
    return _form(request, request_id, person, consent_request, ticked=PRESELECTED or Scopes(0))


@OPERATIONS.add(
    "POST",
    "/oauth/consent/{request_id}",
    guard=visitor,
    errors=(SignInFirst, NotFound, Forbidden, InvalidRequest, EmailUnverified),
    recent_authentication="by_content",
)
async def decide(request: Request, request_id: str) -> Response:
    """The merchant's answer: back to the application with a code, or with access_denied."""
    person, consent_request = await _open(request, request_id)
    form = request.form()
    _refuse_foreign_form(request, form, person, request_id)
    decision = form.one("decision")
    if decision not in {"allow", "deny"}:
        raise InvalidRequest("Allow or deny.")
    stop = _stop(request.now, person, consent_request)
    if stop is not None:
        return _stopped(request, request_id, person, consent_request, stop)
    return await (_allow if decision == "allow" else _deny)(request, request_id, person, consent_request, form)


@OPERATIONS.add(
    "POST", "/oauth/consent/{request_id}/switch", guard=visitor, errors=(SignInFirst, NotFound, Forbidden, InvalidRequest)
)
async def use_another_account(request: Request, request_id: str) -> Response:
    """Sign out, and in again as somebody else. The request is kept, and belongs to the merchant that opens it next."""
    person, consent_request = await _open(request, request_id)
    _refuse_foreign_form(request, request.form(), person, request_id)
    await requests_store.release(request.services.db, consent_request)
    return await sessions.sign_out(request, see_other(f"/signin?request={request_id}"))


async def _allow(request: Request, request_id: str, person: Person, consent_request: ConsentRequest, form: Form) -> Response:
    ticked = scopes.parse(name for name in form.all("scope") if name in scopes.ALL) or Scopes(0)
    if not (ticked & consent_request.scopes).has_api:
        return _form(request, request_id, person, consent_request, ticked=ticked, nothing_ticked=True)
    env = MerchantEnv(person.merchant_id, consent_request.mode)
    await require_verified_email(request.services.db, request.services.settings, env, person)
    if env.livemode and ticked & consent_request.scopes & SENSITIVE:
        person = await reauthenticate(request, person, allow_external_redirect=True)
    code = tokens.mint(tokens.AUTHORIZATION_CODE_PREFIX)
    code_expires_at = request.now + clock.seconds(request.services.settings.authorization_code_ttl)

    async def action(tx: Tx) -> bool:
        if not await sessions_store.lock(tx, person.session_hash):
            raise SignInFirst(f"/signin?request={request_id}")
        if not await requests_store.allow(tx, consent_request, ticked, tokens.digest(code), request.now, code_expires_at):
            return False
        given = new_values(scopes=(ticked & consent_request.scopes).names())
        await record.event(
            tx, env, "grant.given", request.now, subject=consent_request.client_id, name=consent_request.name, changed=given
        )
        return True

    if not await request.services.db.transact(action):
        return await _too_late(request, request_id)
    return _return(request, consent_request, code=code)


async def _deny(
    request: Request, request_id: str, _person: Person, consent_request: ConsentRequest, _form: Form
) -> Response:
    if not await requests_store.deny(request.services.db, consent_request, request.now):
        return await _too_late(request, request_id)
    return _return(request, consent_request, error="access_denied", error_description="The merchant denied the request.")


async def _too_late(request: Request, request_id: str) -> Response:
    """Somebody answered, or something changed, between our look and our answer: say what."""
    person, consent_request = await _open(request, request_id)
    stop = _stop(request.now, person, consent_request)
    if stop is None:
        raise AssertionError("a request that cannot be answered is in a state that says why")
    return _stopped(request, request_id, person, consent_request, stop)


async def _open(request: Request, request_id: str) -> tuple[Person, ConsentRequest]:
    if REQUEST_ID.fullmatch(request_id) is None:
        raise NotFound
    person = await sessions.current_person(request)
    if person is None:
        raise SignInFirst(f"/signin?request={request_id}")
    consent_request = await requests_store.open_for(
        request.services.db, tokens.digest(request_id), person.merchant_id, request.now
    )
    if consent_request is None:
        raise NotFound
    return person, consent_request


def _stop(now: datetime, person: Person, consent_request: ConsentRequest) -> Stop | None:
    """Why this request cannot be answered, by the first reason that holds; None while it can."""
    if consent_request.decision is not None:
        return Stop(409, "This request was already answered", "Nothing more was done. You can close this page.")
    if now >= consent_request.expires_at:
        return Stop(410, "This request has expired", "A request waits for ten minutes. Start again from the application.")
    if consent_request.client_status != "enabled" or consent_request.client_suspended:
        advice = "It is suspended." if consent_request.client_suspended else "Its owner paused or withdrew it."
        return Stop(409, "This application takes no new connections", advice)
    if consent_request.settings_changed:
        return Stop(409, "The application changed its settings", "Start again from the application.")
    if person.suspended:
        advice = "It cannot be connected to applications for now."
        return Stop(403, "Your merchant account is suspended", advice, another_account=True)
    return None


def _stopped(request: Request, request_id: str, person: Person, consent_request: ConsentRequest, stop: Stop) -> Response:
    return page(
        request,
        "oauth/stopped.html",
        stop.status,
        person=person,
        request=consent_request,
        stop=stop,
        website=_website(consent_request),
        **_form_parts(request, request_id, person),
    )


def _form(
    request: Request,
    request_id: str,
    person: Person,
    consent_request: ConsentRequest,
    *,
    ticked: Scopes,
    nothing_ticked: bool = False,
) -> Response:
    return page(
        request,
        "oauth/consent.html",
        422 if nothing_ticked else 200,
        allow_external_redirect=True,
        person=person,
        request=consent_request,
        website=_website(consent_request),
        callback_origin=redirect_uris.origin_of(consent_request.redirect_uri),
        groups=_groups(consent_request.scopes, ticked),
        connections=_counted(consent_request.connections),
        access_ends=_span(request.services.settings.grant_ttl),
        description=_folded(consent_request.description),
        nothing_ticked=nothing_ticked,
        **_form_parts(request, request_id, person),
    )


def _form_parts(request: Request, request_id: str, person: Person) -> dict[str, Any]:
    """Where the forms of a request go, and the token without which they count for nothing."""
    return {
        "form_token": base64.urlsafe_b64encode(request.services.keys.mac(_bound(person, request_id))).decode(),
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


def _website(consent_request: ConsentRequest) -> str | None:
    return redirect_uris.host_of(consent_request.website_url) if consent_request.website_url else None


def _refuse_foreign_form(request: Request, form: Form, person: Person, request_id: str) -> None:
    try:
        mac = base64.b64decode(form.one("form_token") or "", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Forbidden from None
    if len(mac) != MAC_BYTES or not request.services.keys.vouches(_bound(person, request_id), mac):
        raise Forbidden


def _bound(person: Person, request_id: str) -> bytes:
    return PURPOSE + person.session_id.bytes + request_id.encode()


def _return(request: Request, consent_request: ConsentRequest, **outcome: str) -> Response:
    return see_other(
        redirect_uris.redirect_url(
            consent_request.redirect_uri, **outcome, state=consent_request.state, iss=request.services.settings.base_url
        )
    )
