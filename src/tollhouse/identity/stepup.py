"""Recent authentication: before money, secrets and guards of the account, who sits at the dashboard confirms the password.

Signing in counts for 15 minutes. JSON is refused until `POST /api/v2/merchant/session/confirm`. A page with such a form is
shown after the confirmation; a form that is sent when it is too long ago is answered with a page that asks, carries what was
filled in, and does it with the password.
"""

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from tollhouse.audit import record
from tollhouse.http.cookies import SAFE
from tollhouse.http.forms import Form
from tollhouse.http.request import Request
from tollhouse.http.responses import ErrorPage, page
from tollhouse.identity import second_factor, sessions, sessions_store
from tollhouse.identity.model import InvalidCredentials, Person, RecentAuthenticationRequired, SignInFirst
from tollhouse.identity.people import prove
from tollhouse.identity.second_factor import InvalidCode, SecondFactorRequired
from tollhouse.kernel.errors import ApiError, AuthenticationRequired
from tollhouse.kernel.limits import RECENT_AUTHENTICATION_S

LASTS = timedelta(seconds=RECENT_AUTHENTICATION_S)
PASSWORD, CODE = "stepup_password", "stepup_code"
TEMPLATE = "identity/stepup.html"
OURS = re.compile(r"/(live|test|developers|settings)(/[A-Za-z0-9:._~-]+)*(\?[A-Za-z0-9:._~=&%+-]*)?")
HOME = "/"


class ConfirmFirst(ApiError):
    """303: the page is shown after the confirmation."""

    code, status, message = RecentAuthenticationRequired.code, 303, RecentAuthenticationRequired.message

    def __init__(self, to: str) -> None:
        super().__init__(headers={"Location": f"/stepup?{urlencode({'to': to})}"})


class ConfirmWithForm(ErrorPage):
    """403: nothing was done yet. The page asks for the password, and carries what was filled in."""

    code, status, message = RecentAuthenticationRequired.code, 403, RecentAuthenticationRequired.message


def is_recent(person: Person, now: datetime) -> bool:
    """Whether they signed in, or confirmed the password, within the last 15 minutes."""
    return now < person.authenticated_at + LASTS


def require_recent(person: Person, now: datetime) -> None:
    """Raises `RecentAuthenticationRequired`."""
    if not is_recent(person, now):
        raise RecentAuthenticationRequired


async def confirm(request: Request, person: Person, password: str, code: str | None) -> Person:
    """The person, who confirmed password and second factor now, in the same session under another secret.

    Raises what signing in does, and `AuthenticationRequired` where the session ended meanwhile.
    """
    try:
        await prove(request, "step-up", person.email, password, sessions_store.by_email)
    except InvalidCredentials:
        await request.services.db.transact(lambda tx: record.note(tx, person.merchant_id, "proof.refused", request.now))
        raise
    if await second_factor.state(request.services.db, person.user_id) is not None:
        if code is None:
            raise SecondFactorRequired(person.user_id)
        await second_factor.check(request, person.user_id, code)
    renewed = await sessions.renew(request, person)
    if renewed is None:
        raise AuthenticationRequired
    return renewed


async def confirm_by_form(request: Request, person: Person, form: Form) -> Person:
    """The same by the fields of a page's form. Raises what `confirm` does."""
    try:
        return await confirm(request, person, form.one(PASSWORD) or "", form.one(CODE) or "")
    except InvalidCode:
        # Of a form that is sent twice, the first one has used the code up.
        again = await sessions.person_of(request)
        if again is None or not is_recent(again, request.now):
            raise
        return again


async def reauthenticate(request: Request, person: Person, *, allow_external_redirect: bool = False) -> Person:
    """At a page: the person, where that is recent; else 303 to where it is asked, or 403 with a page that asks.

    `allow_external_redirect`: the form may end on another site.
    """
    if is_recent(person, request.now):
        return person
    if request.method in SAFE:
        query = request.query.decode("latin-1")
        raise ConfirmFirst(f"{request.path}?{query}" if query else request.path)
    form = request.form()
    error: ApiError | None = None
    if form.one(PASSWORD) is not None:
        try:
            return await confirm_by_form(request, person, form)
        except AuthenticationRequired:
            raise SignInFirst from None
        except ApiError as fault:
            error = fault
    kept = [(name, value) for name, value in form.pairs if name not in {PASSWORD, CODE}]
    facts = await _facts(request, person, request.path, kept, error)
    raise ConfirmWithForm(
        TEMPLATE, None if error is None else error.headers, allow_external_redirect=allow_external_redirect, **facts
    )


async def asked(request: Request, person: Person, to: str, error: ApiError | None = None) -> Response:
    """The page that asks, and then goes on to another one."""
    facts = await _facts(request, person, "/stepup", [("to", to)], error)
    shown = page(request, TEMPLATE, 200 if error is None else error.status, **facts)
    shown.headers.update({} if error is None else error.headers)
    return shown


def page_to(form: Form) -> str:
    """The page to go on to: one of the dashboard, never an address of anybody else's."""
    to = form.one("to") or ""
    return to if OURS.fullmatch(to) else HOME


async def _facts(
    request: Request, person: Person, action: str, kept: list[tuple[str, str]], error: ApiError | None
) -> dict[str, Any]:
    message = "" if error is None else error.message
    return {
        "person": person,
        "action": action,
        "kept": kept,
        "message": "The password is wrong." if isinstance(error, InvalidCredentials) else message,
        "with_code": await second_factor.state(request.services.db, person.user_id) is not None,
        "carries": action != "/stepup",
    }
