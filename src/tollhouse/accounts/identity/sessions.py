"""Sessions of users: a random secret in a cookie, stored as a digest, new at each sign-in."""

from datetime import timedelta
from uuid import UUID

from msgspec import structs
from starlette.responses import Response

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.changes import new_values
from tollhouse.accounts.identity import sessions_store as store
from tollhouse.accounts.identity.model import InvalidCredentials, Person
from tollhouse.http import cookies
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.limits import SESSION_ABSOLUTE_S, USER_AGENT_CHARS_KEPT
from tollhouse.kernel.tokens import ALPHABET, BODY_CHARS, digest, random_base62


async def current_person(request: Request) -> Person | None:
    """The user of the request's session, None without an active one. Sets the request's time zone and actor."""
    id_hash = session_hash(request, "session")
    person = None if id_hash is None else await store.find_person(request.services.db, id_hash, request.address, request.now)
    if person is not None:
        request.zone = person.zone
        request.actor = request.actor_of("person", person.user_id)
    return person


def session_hash(request: Request, kind: cookies.Kind) -> bytes | None:
    """The digest of the session secret in the cookie; None if there is none or its form is wrong."""
    secret = cookies.session_id(request, kind)
    if secret is None or len(secret) != BODY_CHARS or not set(secret) <= set(ALPHABET):
        return None
    return digest(secret)


async def open_session(work: Work, request: Request, user_id: UUID, password_hash: str) -> str:
    """Open a session, ending the browser's current one; the secret for `set_cookie`.

    Raises `InvalidCredentials` if the password was changed since it was verified.
    """
    current = session_hash(request, "session")
    if current is not None:
        await _revoke(work, request, current)
    secret = random_base62(BODY_CHARS)
    expires_at = request.now + timedelta(seconds=SESSION_ABSOLUTE_S)
    agent = (request.headers.get("user-agent") or "")[:USER_AGENT_CHARS_KEPT].replace("\0", "") or None
    opened = await store.insert(
        work.tx, digest(secret), user_id, password_hash, request.now, expires_at, agent, request.address
    )
    if not opened:
        raise InvalidCredentials
    return secret


async def rotate_secret(request: Request, person: Person) -> Person | None:
    """Mark the session as authenticated now and replace its secret; None if the session has ended.

    A stolen old secret does not gain recent authentication.
    """
    secret = random_base62(BODY_CHARS)
    id_hash = digest(secret)
    if not await store.rotate_secret(request.services.db, person.session_hash, id_hash, request.now):
        return None
    cookies.set_on_response(request, secret, SESSION_ABSOLUTE_S)
    return structs.replace(person, session_hash=id_hash, authenticated_at=request.now)


def set_cookie(request: Request, response: Response, secret: str) -> Response:
    """Set the session cookie."""
    cookies.set_session_cookie(response, request.services.settings, secret, SESSION_ABSOLUTE_S)
    return response


async def revoke_session(work: Work, person: Person, public_id: UUID) -> None:
    """End one session of this user, if it is active."""
    if await store.revoke_one(work.tx, person.user_id, public_id, work.now):
        await record.event(work, person.merchant_id, "session.ended")


async def revoke_other_sessions(work: Work, person: Person) -> None:
    """End every session of this user except the current one."""
    ended = await store.revoke_others(work.tx, person.user_id, person.session_hash, work.now)
    if ended:
        await record.event(work, person.merchant_id, "session.others_ended", changed=new_values(sessions=ended))


async def sign_out(request: Request, response: Response) -> Response:
    """End the browser's session, if any, and clear its cookie."""
    secret = cookies.session_id(request)
    if secret is not None:
        await request.transact(lambda work: _revoke(work, request, digest(secret)))
    cookies.clear_session_cookie(response, request.services.settings)
    return response


async def _revoke(work: Work, request: Request, id_hash: bytes) -> None:
    user_id = await store.revoke(work.tx, id_hash, request.now)
    if user_id is not None:
        await record.event_of_user(work, user_id, "session.ended", request.actor_of("person", user_id))
