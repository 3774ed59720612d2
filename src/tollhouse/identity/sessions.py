"""Sessions of people: an opaque random id in a cookie, kept as a digest, new at each sign-in."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import structs
from starlette.responses import Response

from tollhouse.audit import author, record
from tollhouse.audit.changes import made
from tollhouse.http import cookies
from tollhouse.http.request import Request
from tollhouse.identity import sessions_store as store
from tollhouse.identity.model import InvalidCredentials, Person
from tollhouse.kernel.limits import SESSION_ABSOLUTE_S, USER_AGENT_CHARS_KEPT
from tollhouse.kernel.tokens import ALPHABET, BODY_CHARS, digest, random_base62
from tollhouse.platform.db import Tx


async def person_of(request: Request) -> Person | None:
    """Who sits there, and whose clocks its pages go by from then on; None without a living session."""
    id_hash = offered(request, "session")
    person = None if id_hash is None else await store.person(request.services.db, id_hash, request.address, request.now)
    if person is not None:
        request.zone = person.zone
        author.asked_by(author.person(request, person.user_id))
    return person


def offered(request: Request, kind: cookies.Kind) -> bytes | None:
    """The digest of the session id a browser sent; None where it sent none, or what can be none."""
    secret = cookies.session_id(request, kind)
    if secret is None or len(secret) != BODY_CHARS or not set(secret) <= set(ALPHABET):
        return None
    return digest(secret)


async def begin(tx: Tx, request: Request, user_id: UUID, password_hash: str) -> str:
    """Open a session; the secret for `give`. Raises `InvalidCredentials` when the password was changed meanwhile."""
    secret = random_base62(BODY_CHARS)
    expires_at = request.now + timedelta(seconds=SESSION_ABSOLUTE_S)
    agent = (request.headers.get("user-agent") or "")[:USER_AGENT_CHARS_KEPT].replace("\0", "") or None
    opened = await store.open_session(
        tx, digest(secret), user_id, password_hash, request.now, expires_at, agent, request.address
    )
    if not opened:
        raise InvalidCredentials
    return secret


async def end_offered(tx: Tx, request: Request) -> None:
    """End the session whose cookie came along: whoever signs in here leaves nothing behind."""
    id_hash = offered(request, "session")
    if id_hash is not None:
        await _end(tx, request, id_hash)


async def renew(request: Request, person: Person) -> Person | None:
    """The person, who authenticated now, with another secret in the cookie; None where the session ended meanwhile.

    Who has read the old secret gets nothing of what this opens.
    """
    secret = random_base62(BODY_CHARS)
    id_hash = digest(secret)
    if not await store.renew(request.services.db, person.session_hash, id_hash, request.now):
        return None
    cookies.set_on_response(request, secret, SESSION_ABSOLUTE_S)
    return structs.replace(person, session_hash=id_hash, authenticated_at=request.now)


def give(request: Request, response: Response, secret: str) -> Response:
    """Put the session into the browser's cookie."""
    cookies.set_session_cookie(response, request.services.settings, secret, SESSION_ABSOLUTE_S)
    return response


async def end_one(tx: Tx, person: Person, public_id: UUID, now: datetime) -> None:
    """End one of this person's sessions. One that is over, or somebody else's, stays as it is."""
    if await store.end_one(tx, person.user_id, public_id, now):
        await record.note(tx, person.merchant_id, "session.ended", now)


async def end_others(tx: Tx, person: Person, now: datetime) -> None:
    """End every session of this person but the one they ask from."""
    ended = await store.end_others(tx, person.user_id, person.session_hash, now)
    if ended:
        await record.note(tx, person.merchant_id, "session.others_ended", now, changed=made(sessions=ended))


async def end(request: Request, response: Response) -> Response:
    """End the browser's session, if it has one, on both sides."""
    secret = cookies.session_id(request)
    if secret is not None:
        await request.services.db.transact(lambda tx: _end(tx, request, digest(secret)))
    cookies.clear_session_cookie(response, request.services.settings)
    return response


async def _end(tx: Tx, request: Request, id_hash: bytes) -> None:
    user_id = await store.end(tx, id_hash, request.now)
    if user_id is not None:
        await record.note_of_person(tx, user_id, "session.ended", request.now, author.person(request, user_id))
