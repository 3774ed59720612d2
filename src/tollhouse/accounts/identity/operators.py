"""Sessions and the guard of operators, separate from those of merchants' users.

Changes need password and code again after 15 minutes (see `stepup`).
"""

from datetime import timedelta
from uuid import UUID

from msgspec import structs
from starlette.responses import Response

from tollhouse.accounts.identity import assertions, operators_store, second_factor, stepup
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.credentials import verify_password
from tollhouse.accounts.identity.model import InvalidCredentials, Operator, SignInFirst
from tollhouse.accounts.identity.sessions import session_hash
from tollhouse.accounts.identity.stepup import (
    CODE_FIELD,
    CONSOLE,
    PASSKEY_FIELD,
    PASSWORD_FIELD,
    TEMPLATE,
    ReauthenticationPage,
    ReauthenticationRedirect,
)
from tollhouse.http import cookies
from tollhouse.http.forms import FORM, Form
from tollhouse.http.request import ErrorLayout, Request
from tollhouse.http.responses import ErrorPage
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62
from tollhouse.platform.database.pool import Tx

PATH = f"{CONSOLE.home}/stepup"


class OperatorSecondFactorRequired(ErrorPage):
    """403: in live use operators must have two-factor authentication. The page links to its setup."""

    code, status = "second_factor_required", 403
    message = "Set up two-factor authentication under /operator/security first. Nothing was changed."


class OperatorGuard:
    """An operator with a session; pages redirect others to sign-in.

    In live use operators need two-factor authentication, and recent authentication for changes. `own_account` exempts the
    setup pages from the former, `confirming` exempts the confirmation page from both.
    """

    def __init__(self, *, own_account: bool = False, confirming: bool = False) -> None:
        self.own_account = own_account
        self.confirming = confirming
        self.label = "operator, own account" if own_account else "operator"

    async def admit(self, request: Request) -> Operator:
        """Host 421, session 303, cross-origin 403, then second factor 403, then recent authentication 403 or 303."""
        cookies.require_own_host(request)
        operator = await current_operator(request)
        if operator is None:
            raise SignInFirst(CONSOLE.sign_in_path(request))
        cookies.require_same_origin(request)
        request.actor = Actor("operator", request=request.server_request_id)
        show_navigation(request, operator)
        if not request.services.settings.is_live_use:
            return operator
        if not operator.has_second_factor and not self.own_account:
            raise OperatorSecondFactorRequired("console/second_factor_needed.html")
        if request.method in cookies.SAFE or self.confirming:
            return operator
        return await reauthenticate(request, operator)

    async def record_use(self, request: Request, caller: Operator) -> None:
        """Sessions record their last use themselves."""


operator_page = OperatorGuard()
operator_account_page = OperatorGuard(own_account=True)
operator_confirm_page = OperatorGuard(own_account=True, confirming=True)


def show_navigation(request: Request, operator: Operator) -> None:
    """Set the navigation of error pages."""
    request.error_layout = ErrorLayout("console/layout.html", "/operator", {"operator": operator, "here": ""})


async def current_operator(request: Request) -> Operator | None:
    """The operator of the request's session; None without an active one."""
    id_hash = session_hash(request, "operator")
    return None if id_hash is None else await operators_store.find_operator(request.services.db, id_hash, request.now)


async def open_session(tx: Tx, request: Request, operator_id: UUID, password_hash: str) -> str:
    """Open a session, ending the browser's current one; the secret for `set_cookie`.

    Raises `InvalidCredentials` if the password was reset since it was verified.
    """
    secret = random_base62(BODY_CHARS)
    expires_at = request.now + timedelta(seconds=OPERATOR_SESSION_ABSOLUTE_S)
    current = session_hash(request, "operator")
    if current is not None:
        await operators_store.revoke(tx, current, request.now)
    if not await operators_store.insert(tx, digest(secret), operator_id, password_hash, request.now, expires_at):
        raise InvalidCredentials
    return secret


def set_cookie(request: Request, response: Response, secret: str) -> Response:
    """Set the session cookie."""
    cookies.set_session_cookie(response, request.services.settings, secret, OPERATOR_SESSION_ABSOLUTE_S, "operator")
    return response


async def sign_out(request: Request, response: Response) -> Response:
    """End the browser's session, if any, and clear its cookie."""
    id_hash = session_hash(request, "operator")
    if id_hash is not None:
        await operators_store.revoke(request.services.db, id_hash, request.now)
    cookies.clear_session_cookie(response, request.services.settings, "operator")
    return response


async def confirm(request: Request, operator: Operator, form: Form) -> Operator:
    """Verify a passkey, or password and second factor; the operator, authenticated now, with a new session secret.

    Raises what sign-in raises, and `SignInFirst` if the session has ended.
    """
    if sent := form.one(PASSKEY_FIELD):
        await assertions.use(request, Holder.of(request, operator), assertions.read_form(sent))
    else:
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
    if stepup.has_proof(form):
        try:
            return await confirm(request, operator, form)
        except SignInFirst:
            raise
        except ApiError as cause:
            error = cause
    fields, cancel_path = stepup.carried_fields(form), CONSOLE.cancel_path(request)
    context = await stepup.template_context(request, operator, request.path, fields, error, cancel_path)
    raise ReauthenticationPage(TEMPLATE, None if error is None else error.headers, **context)


async def confirmation_page(request: Request, operator: Operator, form: Form, error: ApiError | None = None) -> Response:
    """The page that asks for the password and then opens the page `to` of this form."""
    fields = stepup.page_fields(CONSOLE, form)
    context = await stepup.template_context(request, operator, PATH, fields, error, CONSOLE.read_cancel(form))
    return stepup.render(request, context, error)
