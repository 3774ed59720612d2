"""The consent page: a merchant sees who requests access, selects permissions, and allows or denies.

A request is bound to the first merchant that opens it. Its form has a token bound to the session and the request. The
decision is one compare-and-set, so a second click, a second tab or changed settings cannot decide it again.
"""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from starlette.responses import Response

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity import sessions, sessions_store
from tollhouse.accounts.identity import store as identity_store
from tollhouse.accounts.identity.browsers import browser_of, system_of
from tollhouse.accounts.identity.emails import EmailUnverified, require_verified_email
from tollhouse.accounts.identity.guards import visitor
from tollhouse.accounts.identity.model import EverythingStops, Person, RoleForbidden, SecondFactorMissing, SignInFirst
from tollhouse.accounts.identity.stepup import reauthenticate
from tollhouse.accounts.mail.model import mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.accounts.spending.limits import ensure_recipients
from tollhouse.accounts.spending.model import NO_LIMITS, Limits
from tollhouse.http.forms import Form
from tollhouse.http.labels import span
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel import clock, scopes, tokens
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import Forbidden, InvalidRequest, NotFound, ValidationFailed
from tollhouse.kernel.scopes import PERMISSIONS, Permission, Scopes
from tollhouse.kernel.text import Text, Translatable
from tollhouse.oauth import connections_store, documents_store, redirect_uris, requests_store
from tollhouse.oauth.authorize import AWAITS_APPROVAL, redirect_to_client
from tollhouse.oauth.connections_store import EarlierConnection
from tollhouse.oauth.device import shown_code
from tollhouse.oauth.model import InvalidScope
from tollhouse.oauth.requests_model import CONNECTION_COUNT_MAX, ConsentRequest, Decision, Given
from tollhouse.pages.dashboard import layout, limit_form
from tollhouse.pages.dashboard.developers.consent_account import PURPOSE, choice_page, decider, require_form_token
from tollhouse.pages.dashboard.limit_form import LimitForm

OPERATIONS = Operations(PAGES)
GROUPS = (("read", "Read"), ("write", "Change data or move money"), ("offline", "Stay connected"))
SUMMARY_LINES, SUMMARY_CHARS = 4, 320
SENSITIVE = scopes.known(permission.scope for permission in PERMISSIONS if permission.access != "read")
"""Scopes that write, and offline_access: in live mode they require recent authentication."""
DEFAULT_SELECTED = scopes.known(permission.scope for permission in PERMISSIONS if permission.default_selected)


class Unavailable(NamedTuple):
    """Why a request cannot be decided: the page's status, title and advice."""

    status: int
    title: str
    advice: str
    offers_switch: bool = False
    """Whether another account could decide it."""
    offers_return: bool = False
    """Whether the merchant can go back to the application, which gets an error."""


AWAITING = Unavailable(
    403,
    "This application is not approved yet",
    "It asks for permissions that change data or move money. The operator of this service has to approve it first. "
    "Nothing was connected.",
    offers_return=True,
)


class DeviceOrigin(NamedTuple):
    """The code that the device shows, and where its request came from. `program`: what its User-Agent says."""

    code: str
    address: str
    program: str


class ScopeChoice(NamedTuple):
    """One checkbox."""

    permission: Permission
    selected: bool


class ScopeGroup(NamedTuple):
    """The checkboxes of one kind of access."""

    title: str
    choices: list[ScopeChoice]


@OPERATIONS.add("GET", "/oauth/consent/{request_id}", guard=visitor, errors=(SignInFirst, NotFound))
async def show(request: Request, request_id: str) -> Response:
    """The consent page, with read permissions selected; of an application that was connected before, those of then.

    What limited it then is filled in. Only limits of amounts are others, where the application asks for some.
    """
    choice = await choice_page(request, request_id)
    if choice is not None:
        return choice
    person, consent_request = await _load(request, request_id)
    unavailable = _unavailable(request.now, person, consent_request)
    if unavailable is not None:
        return _unavailable_page(request, request_id, person, consent_request, unavailable)
    earlier = await connections_store.find_earlier(
        request.services.db, person.merchant_id, consent_request.client_id, consent_request.mode
    )
    selected = DEFAULT_SELECTED if earlier is None else DEFAULT_SELECTED & earlier.scopes
    return await _consent_page(request, request_id, person, consent_request, selected=selected, earlier=earlier)


@OPERATIONS.add(
    "POST",
    "/oauth/consent/{request_id}",
    guard=visitor,
    errors=(
        SignInFirst,
        NotFound,
        Forbidden,
        InvalidRequest,
        SecondFactorMissing,
        RoleForbidden,
        EmailUnverified,
        EverythingStops,
    ),
    recent_authentication="by_content",
)
async def decide(request: Request, request_id: str) -> Response:
    """Allow or deny: redirect to the application with a code or with `access_denied`."""
    person, consent_request = await _load(request, request_id)
    form = request.form()
    require_form_token(request, form, person, request_id)
    decision = form.one("decision")
    if decision not in {"allow", "deny"}:
        raise InvalidRequest("`decision` must be allow or deny.")
    unavailable = _unavailable(request.now, person, consent_request)
    if unavailable is not None and not (unavailable.offers_return and decision == "deny"):
        return _unavailable_page(request, request_id, person, consent_request, unavailable)
    if decision == "deny":
        return await _deny(request, request_id, consent_request)
    return await _allow(request, request_id, person, consent_request, form)


@OPERATIONS.add(
    "POST", "/oauth/consent/{request_id}/switch", guard=visitor, errors=(SignInFirst, NotFound, Forbidden, InvalidRequest)
)
async def use_another_account(request: Request, request_id: str) -> Response:
    """Sign out and redirect to sign-in. The request is bound to the merchant that opens it next."""
    person, consent_request = await _load(request, request_id)
    require_form_token(request, request.form(), person, request_id)
    await requests_store.release(request.services.db, consent_request)
    return await sessions.sign_out(request, see_other(f"/signin?request={request_id}"))


async def _allow(request: Request, request_id: str, person: Person, consent_request: ConsentRequest, form: Form) -> Response:
    selected = scopes.known(form.all("scope")) & consent_request.scopes
    typed = limit_form.read(form, request.services.catalogue, person.zone)
    if not selected.has_api or typed.errors:
        return await _consent_page(request, request_id, person, consent_request, selected=selected, typed=typed)
    if person.lacks_factor:
        raise SecondFactorMissing
    person.require("connections", consent_request.mode)
    person.require_scopes(selected, consent_request.mode)
    limits = typed.limits(request.services.catalogue)
    proposals_only = typed.proposals_only or consent_request.proposes_only
    env = MerchantEnv(person.merchant_id, consent_request.mode)
    await require_verified_email(request.services.db, request.services.settings, env, person)
    if env.livemode and selected & SENSITIVE:
        person = await reauthenticate(request, person, allow_external_redirect=consent_request.redirect_uri is not None)
    code = tokens.mint(tokens.AUTHORIZATION_CODE_PREFIX)
    code_hash = consent_request.device_code_hash or tokens.digest(code)
    code_expires_at = request.now + clock.seconds(request.services.settings.authorization_code_ttl)

    async def allow(work: Work) -> bool:
        await identity_store.begin_credential(work.tx, env)
        if not await sessions_store.lock_with_role(work.tx, person):
            raise SignInFirst(f"/signin?request={request_id}")
        await ensure_recipients(work.tx, env, limits)
        given = Given(person.user_id, selected, limits, proposals_only, code_hash, code_expires_at)
        review = work.services.settings.review_applications
        if not await requests_store.allow(work.tx, consent_request, given, request.now, review=review):
            return False
        described = limits.described(work.services.catalogue) if limits != NO_LIMITS else {}
        changed = new_values(scopes=selected.names(), **described, proposals_only=proposals_only or None)
        await record.event(
            work, env, "grant.given", subject=consent_request.client_id, name=consent_request.name, changed=changed
        )
        facts = NoticeFacts(name=mail_name(consent_request.name), by=mail_name(person.email))
        occasion = tokens.digest(request_id).hex()
        await notify_members(work, "application_connected", Occurrence(env, occasion, facts))
        return True

    try:
        if not await request.transact(allow):
            return await _conflict_page(request, request_id)
    except ValidationFailed as error:
        typed = typed.refused(error)
        return await _consent_page(request, request_id, person, consent_request, selected=selected, typed=typed)
    return _ending(request, consent_request, "allowed", code=code)


async def _deny(request: Request, request_id: str, consent_request: ConsentRequest) -> Response:
    if not await requests_store.deny(request.services.db, consent_request, request.now):
        return await _conflict_page(request, request_id)
    error, description = "access_denied", "The merchant denied the request."
    if consent_request.awaits_approval:
        error, description = InvalidScope.code, AWAITS_APPROVAL
    return _ending(request, consent_request, "denied", error=error, error_description=description)


def _ending(request: Request, consent_request: ConsentRequest, decision: Decision, **parameters: str) -> Response:
    """Back to the application; for a device, the page that says so, since the device asks for itself."""
    if consent_request.redirect_uri is None:
        return see_other(f"/device?decision={decision}")
    return redirect_to_client(request, consent_request.redirect_uri, consent_request.state, **parameters)


async def _conflict_page(request: Request, request_id: str) -> Response:
    """Why the compare-and-set of a decision matched no row."""
    person, consent_request = await _load(request, request_id)
    unavailable = _unavailable(request.now, person, consent_request)
    if unavailable is None:
        raise AssertionError("an authorization request could not be decided, but is available")
    return _unavailable_page(request, request_id, person, consent_request, unavailable)


async def _load(request: Request, request_id: str) -> tuple[Person, ConsentRequest]:
    person = await decider(request, request_id)
    consent_request = await requests_store.find_for_merchant(
        request.services.db,
        tokens.digest(request_id),
        person.merchant_id,
        request.now,
        review=request.services.settings.review_applications,
    )
    if consent_request is None:
        raise NotFound
    return person, consent_request


def _unavailable(now: datetime, person: Person, consent_request: ConsentRequest) -> Unavailable | None:
    """Why this request cannot be decided; None if it can."""
    if consent_request.decision is not None:
        return Unavailable(409, "This request was already answered", "Nothing else was changed. You can close this page.")
    if now >= consent_request.expires_at:
        return Unavailable(
            410, "This request has expired", "Requests expire after 10 minutes. Start again from the application."
        )
    if consent_request.client_suspended or consent_request.client_status != "enabled":
        advice = "It is suspended." if consent_request.client_suspended else "Its owner paused or revoked it."
        return Unavailable(409, "This application does not accept new connections", advice)
    if consent_request.settings_changed:
        return Unavailable(409, "The settings of the application were changed", "Start again from the application.")
    if person.suspended:
        return Unavailable(
            403, "Your merchant account is suspended", "A suspended account cannot connect applications.", offers_switch=True
        )
    return AWAITING if consent_request.awaits_approval else None


def _unavailable_page(
    request: Request, request_id: str, person: Person, consent_request: ConsentRequest, unavailable: Unavailable
) -> Response:
    return page(
        request,
        "dashboard/consent/unavailable.html",
        unavailable.status,
        person=person,
        request=consent_request,
        unavailable=unavailable,
        website=_website(consent_request),
        **_form_context(request, request_id, person),
    )


async def _consent_page(
    request: Request,
    request_id: str,
    person: Person,
    consent_request: ConsentRequest,
    *,
    selected: Scopes,
    earlier: EarlierConnection | None = None,
    typed: LimitForm | None = None,
) -> Response:
    context = await page_context(request, person, consent_request, selected, earlier)
    if typed is not None:
        context["limit_form"] = typed
    return page(
        request,
        "dashboard/consent/page.html",
        200 if typed is None else 422,
        allow_external_redirect=consent_request.redirect_uri is not None,
        nothing_selected=typed is not None and not selected.has_api,
        connected_before=earlier is not None,
        limits_before=earlier is not None and context["limit_form"].is_used,
        **context,
        **_form_context(request, request_id, person),
    )


async def page_context(
    request: Request,
    person: Person,
    consent_request: ConsentRequest,
    selected: Scopes,
    earlier: EarlierConnection | None = None,
) -> dict[str, Any]:
    """What the page shows, without its form."""
    catalogue, env = request.services.catalogue, MerchantEnv(person.merchant_id, consent_request.mode)
    return {
        "person": person,
        "request": consent_request,
        "website": _website(consent_request),
        "redirect_origin": consent_request.redirect_uri and redirect_uris.origin_of(consent_request.redirect_uri),
        "document_host": consent_request.document_url and redirect_uris.host_of(consent_request.document_url),
        "returns_to_loopback": redirect_uris.is_loopback(consent_request.redirect_uri or ""),
        "device": _device(consent_request),
        "groups": _groups(consent_request.scopes, selected),
        "connections": _connections_text(consent_request.connections),
        "access_duration": span(timedelta(seconds=request.services.settings.grant_ttl)),
        "description": _split_description(consent_request.description),
        "limit_form": limit_form.of_limits(
            _limits_shown(consent_request, earlier, request.now),
            consent_request.scopes,
            catalogue,
            person.zone,
            proposals_only=earlier is not None and earlier.proposals_only,
        ),
        "has_logo": bool(await documents_store.logo_uris(request.services.db, consent_request.client_id)),
        "limit_options": await limit_form.options(request.services.db, env, catalogue),
    }


def _limits_shown(consent_request: ConsentRequest, earlier: EarlierConnection | None, now: datetime) -> Limits:
    """The limits that are filled in: what the application asks for, and what limited its last connection."""
    asked = consent_request.limits
    if earlier is None:
        return asked
    before = earlier.limits
    return Limits(
        limits=asked.limits or before.limits,
        recipients=before.recipients,
        expires_at=before.expires_at if before.expires_at is not None and before.expires_at > now else None,
    )


def _form_context(request: Request, request_id: str, person: Person) -> dict[str, Any]:
    return {
        "form_token": layout.sign_form(request.services.keys, PURPOSE, person, request_id),
        "form_action": f"/oauth/consent/{request_id}",
        "switch_action": f"/oauth/consent/{request_id}/switch",
    }


def _device(consent_request: ConsentRequest) -> DeviceOrigin | None:
    """Where a request of a device came from."""
    if consent_request.user_code is None:
        return None
    agent = consent_request.device_agent or ""
    program = " · ".join(name for name in (browser_of(agent), system_of(agent)) if name)
    return DeviceOrigin(shown_code(consent_request.user_code), consent_request.device_address or "", program)


def _split_description(description: str) -> tuple[str, str]:
    """The first lines of a description, and the rest."""
    first = "".join(description.splitlines(keepends=True)[:SUMMARY_LINES])
    if len(first) > SUMMARY_CHARS:
        first = first[:SUMMARY_CHARS].rpartition(" ")[0] or first[:SUMMARY_CHARS]
    return first.rstrip(), description[len(first) :].strip()


def _connections_text(connections: int) -> Translatable:
    if connections > CONNECTION_COUNT_MAX:
        return Text("more than %(count)s active connections", count=CONNECTION_COUNT_MAX)
    return "1 active connection" if connections == 1 else Text("%(count)s active connections", count=connections)


def _groups(requested: Scopes, selected: Scopes) -> list[ScopeGroup]:
    groups: list[ScopeGroup] = []
    for access, title in GROUPS:
        choices = [
            ScopeChoice(permission, permission.scope in selected)
            for permission in PERMISSIONS
            if permission.access == access and permission.scope in requested
        ]
        if choices:
            groups.append(ScopeGroup(title, choices))
    return groups


def _website(consent_request: ConsentRequest) -> str | None:
    return redirect_uris.host_of(consent_request.website_url) if consent_request.website_url else None
