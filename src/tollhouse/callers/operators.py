"""Operators at their pages: sessions of their own, which open nothing of a merchant's, and the guard that wants one."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from tollhouse.audit import author
from tollhouse.callers import operators_store, sessions
from tollhouse.callers.model import InvalidCredentials, Operator, SignInFirst
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62
from tollhouse.platform.db import Tx
from tollhouse.web import cookies
from tollhouse.web.ask import Ask

SIGN_IN = "/operator/signin"


class AtTheDesk:
    """An operator with a session; others are sent to sign in."""

    label = "operator"

    async def admit(self, ask: Ask) -> Operator:
        """Host 421, session 303, then cross-origin 403."""
        cookies.refuse_other_host(ask)
        operator = await operator_of(ask)
        if operator is None:
            raise SignInFirst(f"{SIGN_IN}?{urlencode({'to': _page_of(ask)})}")
        cookies.refuse_cross_origin(ask)
        author.asked_by(author.OPERATOR)
        return operator

    async def note_use(self, ask: Ask, caller: Operator) -> None:
        """Nothing: the session itself notes when it was seen."""


operator_page = AtTheDesk()


async def operator_of(ask: Ask) -> Operator | None:
    """Which operator sits there; None without a living session."""
    id_hash = sessions.offered(ask, "operator")
    return None if id_hash is None else await operators_store.operator(ask.house.db, id_hash, ask.now)


async def begin(tx: Tx, ask: Ask, operator_id: UUID, password_hash: str) -> str:
    """Open a session; the secret for `give`. Raises `InvalidCredentials` when the password was taken away meanwhile."""
    secret = random_base62(BODY_CHARS)
    expires_at = ask.now + timedelta(seconds=OPERATOR_SESSION_ABSOLUTE_S)
    offered = sessions.offered(ask, "operator")
    if offered is not None:
        await operators_store.end_session(tx, offered, ask.now)
    if not await operators_store.open_session(tx, digest(secret), operator_id, password_hash, ask.now, expires_at):
        raise InvalidCredentials
    return secret


def give(ask: Ask, response: Response, secret: str) -> Response:
    """Put the session into the browser's cookie."""
    cookies.set_session(response, ask.house.settings, secret, OPERATOR_SESSION_ABSOLUTE_S, "operator")
    return response


async def end(ask: Ask, response: Response) -> Response:
    """End the browser's session, if it has one, on both sides."""
    id_hash = sessions.offered(ask, "operator")
    if id_hash is not None:
        await operators_store.end_session(ask.house.db, id_hash, ask.now)
    cookies.drop_session(response, ask.house.settings, "operator")
    return response


def _page_of(ask: Ask) -> str:
    """Where to go on after signing in: a form that was sent in vain stands on the page above its address."""
    return ask.path if ask.method in cookies.SAFE else ask.path.rpartition("/")[0]
