"""Operators at their pages: sessions of their own, which open nothing of a merchant's, and the guard that wants one."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from tollhouse.audit import author
from tollhouse.http import cookies
from tollhouse.http.request import Request
from tollhouse.http.responses import ErrorPage
from tollhouse.identity import operator_stepup, operators_store, sessions
from tollhouse.identity.model import InvalidCredentials, Operator, SignInFirst
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62
from tollhouse.platform.db import Tx

SIGN_IN = "/operator/signin"


class SecondFactorNeeded(ErrorPage):
    """403: in live use operators have a second factor. The page leads to setting one up."""

    code, status = "second_factor_required", 403
    message = "Set up a second factor under /operator/security first. Nothing was done."


class AtTheDesk:
    """An operator with a session; others are sent to sign in.

    In live use operators have a second factor, and authenticated recently where they change anything. `own_account` excepts
    from the former what one needs to set it up; `confirming`, from both, confirming the password itself.
    """

    def __init__(self, *, own_account: bool = False, confirming: bool = False) -> None:
        self.own_account = own_account
        self.confirming = confirming
        self.label = "operator, own account" if own_account else "operator"

    async def admit(self, request: Request) -> Operator:
        """Host 421, session 303, cross-origin 403, then the second factor 403, then recent authentication 403 or 303."""
        cookies.require_own_host(request)
        operator = await operator_of(request)
        if operator is None:
            raise SignInFirst(f"{SIGN_IN}?{urlencode({'to': _page_of(request)})}")
        cookies.require_same_origin(request)
        author.asked_by(author.OPERATOR)
        if not request.services.settings.is_production:
            return operator
        if not operator.has_second_factor and not self.own_account:
            raise SecondFactorNeeded("console/second_factor_needed.html")
        if request.method in cookies.SAFE or self.confirming:
            return operator
        return await operator_stepup.reauthenticate(request, operator)

    async def record_use(self, request: Request, caller: Operator) -> None:
        """Nothing: the session itself notes when it was seen."""


operator_page = AtTheDesk()
operator_account_page = AtTheDesk(own_account=True)
operator_confirm_page = AtTheDesk(own_account=True, confirming=True)


async def operator_of(request: Request) -> Operator | None:
    """Which operator sits there; None without a living session."""
    id_hash = sessions.offered(request, "operator")
    return None if id_hash is None else await operators_store.operator(request.services.db, id_hash, request.now)


async def begin(tx: Tx, request: Request, operator_id: UUID, password_hash: str) -> str:
    """Open a session; the secret for `give`. Raises `InvalidCredentials` when the password was taken away meanwhile."""
    secret = random_base62(BODY_CHARS)
    expires_at = request.now + timedelta(seconds=OPERATOR_SESSION_ABSOLUTE_S)
    offered = sessions.offered(request, "operator")
    if offered is not None:
        await operators_store.end_session(tx, offered, request.now)
    if not await operators_store.open_session(tx, digest(secret), operator_id, password_hash, request.now, expires_at):
        raise InvalidCredentials
    return secret


def give(request: Request, response: Response, secret: str) -> Response:
    """Put the session into the browser's cookie."""
    cookies.set_session_cookie(response, request.services.settings, secret, OPERATOR_SESSION_ABSOLUTE_S, "operator")
    return response


async def end(request: Request, response: Response) -> Response:
    """End the browser's session, if it has one, on both sides."""
    id_hash = sessions.offered(request, "operator")
    if id_hash is not None:
        await operators_store.end_session(request.services.db, id_hash, request.now)
    cookies.clear_session_cookie(response, request.services.settings, "operator")
    return response


def _page_of(request: Request) -> str:
    """Where to go on after signing in: a form that was sent in vain stands on the page above its address."""
    return request.path if request.method in cookies.SAFE else request.path.rpartition("/")[0]
