"""Recent authentication of users: changes of money, secrets and account protection need the password again after 15 minutes.

JSON is refused until `POST /api/v2/merchant/session/confirm`. A page redirects to the confirmation page; a submitted form is
answered with a page that asks for the password and carries the form's fields. After sign-in, or after or instead of
confirming the password, the browser returns to an own page, never to another site.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity import assertions, second_factor, sessions, sessions_store
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.credentials import verify_password
from tollhouse.accounts.identity.model import InvalidCredentials, Operator, Person, RecentAuthenticationRequired, SignInFirst
from tollhouse.accounts.identity.second_factor import InvalidCode, SecondFactorRequired
from tollhouse.accounts.identity.webauthn_model import PasskeyAssertion
from tollhouse.http.cookies import SAFE
from tollhouse.http.forms import ACTING_FOR, FORM, Form, parse_form
from tollhouse.http.request import Request
from tollhouse.http.responses import ErrorPage, page
from tollhouse.kernel.errors import ApiError, AuthenticationRequired, InvalidRequest
from tollhouse.kernel.limits import RECENT_AUTHENTICATION_S

T = TypeVar("T")
RECENT = timedelta(seconds=RECENT_AUTHENTICATION_S)
PASSWORD_FIELD, CODE_FIELD, PASSKEY_FIELD = "stepup_password", "stepup_code", "stepup_passkey"
PROOFS = frozenset({PASSWORD_FIELD, CODE_FIELD, PASSKEY_FIELD})
TEMPLATE = "identity/stepup.html"
PATH = "/stepup"

SEGMENTS_AND_QUERY = r"(/(?!\.{1,2}([/?]|$))[A-Za-z0-9:._~-]+)*(\?[!-\"$-\[\]-~]{0,2000})?"
"""No segment is empty, `.` or `..`, and there is no backslash, space, control character or fragment."""


class ReturnPaths(Struct, frozen=True):
    """The pages of one kind of account: its home page, its sign-in page, and a pattern of the pages to return to."""

    home: str
    sign_in: str
    pattern: re.Pattern[str]

    def read(self, form: Form) -> str:
        """The page named by the parameter `to`; the home page if it is none of this account."""
        return self._own(form.one("to") or "") or self.home

    def read_cancel(self, form: Form) -> str:
        """The page named by the parameter `cancel`, where the page `to` cannot be opened; else the page `to`."""
        return self._own(form.one("cancel") or "") or self.read(form)

    def sign_in_path(self, request: Request) -> str:
        """The sign-in page that leads back to the page of this request; for a form, to the page above it."""
        to = self._page_of(request)
        return self.sign_in if to == self.home else f"{self.sign_in}?{urlencode({'to': to})}"

    def cancel_path(self, request: Request) -> str:
        """The page of the request, if it can be opened without confirming the password; else the nearest one above it."""
        return request.cancel_path or self.home

    def _page_of(self, request: Request) -> str:
        """The confirmation page is not one to return to, but the page that it opens is."""
        is_form = request.method not in SAFE
        address = request.page_path if is_form else address_of(request)
        if self._own(address):
            return address
        sent = request.query if not is_form else request.raw if request.media_type == FORM else b""
        try:
            return self.read(parse_form(sent))
        except InvalidRequest:
            return self.home

    def _own(self, address: str) -> str:
        return address if self.pattern.fullmatch(address) else ""


DASHBOARD = ReturnPaths("/", "/signin", re.compile(f"/(live|test|developers|settings|docs|device){SEGMENTS_AND_QUERY}"))
CONSOLE = ReturnPaths("/operator", "/operator/signin", re.compile(f"/operator{SEGMENTS_AND_QUERY}"))


def address_of(request: Request) -> str:
    """Path and query."""
    return f"{request.path}?{request.query.decode('latin-1')}" if request.query else request.path


class ReauthenticationRedirect(ApiError):
    """303 to the confirmation page, which then opens the page `to`, or the page `cancel` if it is left."""

    code, status, message = RecentAuthenticationRequired.code, 303, RecentAuthenticationRequired.message

    def __init__(self, to: str, cancel: str, path: str = PATH) -> None:
        super().__init__(headers={"Location": f"{path}?{urlencode(_page_parameters(to, cancel))}"})


class ReauthenticationPage(ErrorPage):
    """403: nothing was changed yet. The page asks for the password and carries the submitted fields."""

    code, status, message = RecentAuthenticationRequired.code, 403, RecentAuthenticationRequired.message


def is_recent(caller: Person | Operator, now: datetime) -> bool:
    """Whether the caller signed in or confirmed the password within the last 15 minutes."""
    return now < caller.authenticated_at + RECENT


def require_recent(person: Person, now: datetime) -> None:
    """Raises `RecentAuthenticationRequired`."""
    if not is_recent(person, now):
        raise RecentAuthenticationRequired


async def confirm(request: Request, person: Person, password: str, code: str | None) -> Person:
    """Verify password and second factor; the user, authenticated now, with a new session secret.

    Raises what sign-in raises, and `AuthenticationRequired` if the session has ended.
    """
    try:
        await verify_password(request, "step-up", person.email, password, sessions_store.find_by_email)
    except InvalidCredentials:
        await request.transact(lambda work: record.event(work, person.merchant_id, "proof.refused"))
        raise
    if await second_factor.state(request.services.db, person.user_id) is not None:
        if code is None:
            raise SecondFactorRequired(person.user_id)
        await second_factor.verify_code(request, person.user_id, code)
    return await _confirmed(request, person)


async def confirm_by_passkey(request: Request, person: Person, sent: PasskeyAssertion) -> Person:
    """As `confirm`, with a passkey of the user, which is both factors. Raises what `assertions.verify` raises."""
    await assertions.use(request, Holder.of(request, person), sent)
    return await _confirmed(request, person)


async def _confirmed(request: Request, person: Person) -> Person:
    confirmed = await sessions.rotate_secret(request, person)
    if confirmed is None:
        raise AuthenticationRequired
    return confirmed


async def confirm_by_form(request: Request, person: Person, form: Form) -> Person:
    """`confirm` or `confirm_by_passkey` with the fields of a page's form."""
    if sent := form.one(PASSKEY_FIELD):
        return await confirm_by_passkey(request, person, assertions.read_form(sent))
    try:
        return await confirm(request, person, form.one(PASSWORD_FIELD) or "", form.one(CODE_FIELD) or "")
    except InvalidCode:
        # When a form is submitted twice, the first request has used the code.
        current = await sessions.current_person(request)
        if current is None or not is_recent(current, request.now):
            raise
        return current


async def reauthenticate(request: Request, person: Person, *, allow_external_redirect: bool = False) -> Person:
    """On a page: the user, recently authenticated; otherwise a redirect (GET) or a page that carries the form (403).

    `allow_external_redirect`: the form's response may redirect to another site.
    """
    if is_recent(person, request.now):
        return person
    if request.method in SAFE:
        raise ReauthenticationRedirect(address_of(request), DASHBOARD.cancel_path(request))
    form = request.form()
    error: ApiError | None = None
    if has_proof(form):
        try:
            return await confirm_by_form(request, person, form)
        except AuthenticationRequired:
            raise SignInFirst(DASHBOARD.sign_in_path(request)) from None
        except ApiError as cause:
            error = cause
    cancel_path = DASHBOARD.cancel_path(request)
    context = await template_context(request, person, request.path, carried_fields(form), error, cancel_path)
    raise ReauthenticationPage(
        TEMPLATE, None if error is None else error.headers, allow_external_redirect=allow_external_redirect, **context
    )


async def run_recent(request: Request, person: Person, action: Callable[[Person], Awaitable[T]]) -> T:
    """On a page: run an action, and where that requires recent authentication, run it again with it."""
    try:
        return await action(person)
    except RecentAuthenticationRequired:
        return await action(await reauthenticate(request, person))


async def confirmation_page(request: Request, person: Person, form: Form, error: ApiError | None = None) -> Response:
    """The page that asks for the password and then opens the page `to` of this form."""
    fields = page_fields(DASHBOARD, form)
    context = await template_context(request, person, PATH, fields, error, DASHBOARD.read_cancel(form))
    return render(request, context, error)


def page_fields(paths: ReturnPaths, form: Form) -> list[tuple[str, str]]:
    """The parameters `to` and `cancel` of the confirmation page."""
    return _page_parameters(paths.read(form), paths.read_cancel(form))


def _page_parameters(to: str, cancel: str) -> list[tuple[str, str]]:
    return [("to", to)] if cancel == to else [("to", to), ("cancel", cancel)]


def has_proof(form: Form) -> bool:
    """Whether the form has a password or a passkey."""
    return form.one(PASSWORD_FIELD) is not None or bool(form.one(PASSKEY_FIELD))


def carried_fields(form: Form) -> list[tuple[str, str]]:
    """The fields of the submitted form without password, code, passkey and what every page adds."""
    return [(name, value) for name, value in form.pairs if name not in PROOFS and name != ACTING_FOR]


async def template_context(
    request: Request,
    caller: Person | Operator,
    action: str,
    fields: list[tuple[str, str]],
    error: ApiError | None,
    cancel_path: str,
) -> dict[str, Any]:
    """The context of the template. `action` is where its form is sent, with hidden `fields`."""
    holder, message = Holder.of(request, caller), "" if error is None else error.message
    return {
        "email": holder.email,
        "action": action,
        "fields": fields,
        "message": "Incorrect password." if isinstance(error, InvalidCredentials) else message,
        "with_code": await second_factor.state(request.services.db, holder.holder_id) is not None,
        "options": await assertions.confirmation_attribute(request, holder),
        "carries_form": not action.endswith(PATH),
        "cancel_path": cancel_path,
    }


def render(request: Request, context: dict[str, Any], error: ApiError | None) -> Response:
    """The confirmation page, with the status and headers of the error."""
    response = page(request, TEMPLATE, 200 if error is None else error.status, **context)
    response.headers.update({} if error is None else error.headers)
    return response
