"""Recent authentication of operators: whoever decides something at their pages confirms password and code every 15 minutes.

Signing in counts. A form that is sent when it is too long ago is answered with a page that asks, carries what was filled in,
and does it with the password.
"""

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import structs
from starlette.responses import Response

from tollhouse.http import cookies
from tollhouse.http.forms import FORM, Form
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity import operators_store, second_factor
from tollhouse.identity.model import InvalidCredentials, Operator, SignInFirst
from tollhouse.identity.people import prove
from tollhouse.identity.stepup import CODE, PASSWORD, TEMPLATE, ConfirmFirst, ConfirmWithForm
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S, RECENT_AUTHENTICATION_S
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62

LASTS = timedelta(seconds=RECENT_AUTHENTICATION_S)
ROOT = "/operator"
PATH = f"{ROOT}/stepup"
OURS = re.compile(r"/operator(/[A-Za-z0-9_-]+)*")


class ConfirmOperatorFirst(ConfirmFirst):
    """303 to where it is asked, and from there to the page named."""

    def __init__(self, to: str) -> None:
        super().__init__(to)
        self.headers["Location"] = f"{PATH}?{urlencode({'to': to})}"


def is_recent(operator: Operator, now: datetime) -> bool:
    """Whether they signed in, or confirmed the password, within the last 15 minutes."""
    return now < operator.authenticated_at + LASTS


async def confirm(request: Request, operator: Operator, form: Form) -> Operator:
    """The operator, who confirmed password and second factor now, in the same session under another secret.

    Raises what signing in does, and `SignInFirst` where the session ended meanwhile.
    """
    await prove(request, "operator sign-in", operator.email, form.one(PASSWORD) or "", operators_store.by_email)
    if operator.has_second_factor:
        await second_factor.check(request, operator.operator_id, form.one(CODE) or "")
    secret = random_base62(BODY_CHARS)
    if not await operators_store.renew(request.services.db, operator.session_hash, digest(secret), request.now):
        raise SignInFirst(f"{ROOT}/signin")
    cookies.set_on_response(request, secret, OPERATOR_SESSION_ABSOLUTE_S, "operator")
    return structs.replace(operator, session_hash=digest(secret), authenticated_at=request.now)


async def reauthenticate(request: Request, operator: Operator) -> Operator:
    """The operator, where that is recent. Else a page that asks and carries the form, or 303 where none can be carried."""
    if is_recent(operator, request.now):
        return operator
    if request.media_type != FORM:
        raise ConfirmOperatorFirst(request.path)
    form = request.form()
    error: ApiError | None = None
    if form.one(PASSWORD) is not None:
        try:
            return await confirm(request, operator, form)
        except SignInFirst:
            raise
        except ApiError as fault:
            error = fault
    kept = [(name, value) for name, value in form.pairs if name not in {PASSWORD, CODE}]
    facts = _facts(operator, request.path, kept, error)
    raise ConfirmWithForm(TEMPLATE, None if error is None else error.headers, **facts)


def asked(request: Request, operator: Operator, to: str, error: ApiError | None = None) -> Response:
    """The page that asks, and then goes on to another one."""
    shown = page(request, TEMPLATE, 200 if error is None else error.status, **_facts(operator, PATH, [("to", to)], error))
    shown.headers.update({} if error is None else error.headers)
    return shown


def page_to(form: Form) -> str:
    """The page to go on to: one of the operators', never an address of anybody else's."""
    to = form.one("to") or ""
    return to if OURS.fullmatch(to) else ROOT


def _facts(operator: Operator, action: str, kept: list[tuple[str, str]], error: ApiError | None) -> dict[str, Any]:
    message = "" if error is None else error.message
    return {
        "person": operator,
        "action": action,
        "kept": kept,
        "message": "The password is wrong." if isinstance(error, InvalidCredentials) else message,
        "with_code": operator.has_second_factor,
        "carries": action != PATH,
        "leave": ROOT,
    }
