"""Sessions and the guard of operators. Their sessions are separate from those of merchants' users."""

from datetime import timedelta
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity import operator_stepup, operators_store
from tollhouse.accounts.identity.model import InvalidCredentials, Operator, SignInFirst
from tollhouse.accounts.identity.return_paths import CONSOLE
from tollhouse.accounts.identity.sessions import session_hash
from tollhouse.http import cookies
from tollhouse.http.request import ErrorLayout, Request
from tollhouse.http.responses import ErrorPage
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62
from tollhouse.platform.database.pool import Tx


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
        return await operator_stepup.reauthenticate(request, operator)

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
