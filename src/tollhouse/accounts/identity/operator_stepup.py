"""Recent authentication of operators: changes need password and code again after 15 minutes (see `stepup`)."""

from typing import Any

from msgspec import structs
from starlette.responses import Response

from tollhouse.accounts.identity import operators_store, second_factor, stepup
from tollhouse.accounts.identity.credentials import verify_password
from tollhouse.accounts.identity.model import Operator, SignInFirst
from tollhouse.accounts.identity.return_paths import CONSOLE
from tollhouse.accounts.identity.stepup import (
    CODE_FIELD,
    PASSWORD_FIELD,
    TEMPLATE,
    ReauthenticationPage,
    ReauthenticationRedirect,
)
from tollhouse.http import cookies
from tollhouse.http.forms import FORM, Form
from tollhouse.http.request import Request
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62

PATH = f"{CONSOLE.home}/stepup"


async def confirm(request: Request, operator: Operator, form: Form) -> Operator:
    """Verify password and second factor; the operator, authenticated now, with a new session secret.

    Raises what sign-in raises, and `SignInFirst` if the session has ended.
    """
    password = form.one(PASSWORD_FIELD) or ""
    await verify_password(request, "operator sign-in", operator.email, password, operators_store.find_by_email)
    if operator.has_second_factor:
        await second_factor.verify_code(request, operator.operator_id, form.one(CODE_FIELD) or "")
    secret = random_base62(BODY_CHARS)
    if not await operators_store.rotate_secret(request.services.db, operator.session_hash, digest(secret), request.now):
        raise SignInFirst(CONSOLE.sign_in)
    cookies.set_on_response(request, secret, OPERATOR_SESSION_ABSOLUTE_S, "operator")
    return structs.replace(operator, session_hash=digest(secret), authenticated_at=request.now)


async def reauthenticate(request: Request, operator: Operator) -> Operator:
    """The operator, recently authenticated; otherwise a page that carries the form (403), or a redirect for other bodies."""
    if stepup.is_recent(operator, request.now):
        return operator
    if request.media_type != FORM:
        raise ReauthenticationRedirect(request.path, CONSOLE.cancel_path(request), PATH)
    form = request.form()
    error: ApiError | None = None
    if form.one(PASSWORD_FIELD) is not None:
        try:
            return await confirm(request, operator, form)
        except SignInFirst:
            raise
        except ApiError as cause:
            error = cause
    context = _context(operator, request.path, stepup.carried_fields(form), error, cancel_path=CONSOLE.cancel_path(request))
    raise ReauthenticationPage(TEMPLATE, None if error is None else error.headers, **context)


def confirmation_page(request: Request, operator: Operator, form: Form, error: ApiError | None = None) -> Response:
    """The page that asks for the password and then opens the page `to` of this form."""
    fields = stepup.page_fields(CONSOLE, form)
    return stepup.render(request, _context(operator, PATH, fields, error, cancel_path=CONSOLE.read_cancel(form)), error)


def _context(
    operator: Operator, action: str, fields: list[tuple[str, str]], error: ApiError | None, *, cancel_path: str
) -> dict[str, Any]:
    return stepup.template_context(
        operator.email, action, fields, error, with_code=operator.has_second_factor, cancel_path=cancel_path
    )
