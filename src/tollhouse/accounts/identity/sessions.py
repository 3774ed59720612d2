"""Sessions of users, and the sign-in that opens them: password, second factor, and the email about a new device.

The secret of a session is random, in a cookie, stored as a digest, and new at each sign-in.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import structs
from starlette.responses import Response

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity import assertions, members_store, second_factor, users_store
from tollhouse.accounts.identity import sessions_store as store
from tollhouse.accounts.identity.assertions import Assertion
from tollhouse.accounts.identity.browsers import (
    browser_of,
    device_hash,
    remember_device,
    remembered_device,
    sent_devices,
    system_of,
    user_agent_of,
)
from tollhouse.accounts.identity.credentials import email_key, verify_password
from tollhouse.accounts.identity.model import InvalidCredentials, NoMembership, Person
from tollhouse.accounts.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.accounts.identity.webauthn_model import PasskeyAssertion, PasskeyRefused
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http import cookies
from tollhouse.http.forms import ACTING_FOR, FORM, FORM_WITH_FILES
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError, AuthenticationRequired, NotFound
from tollhouse.kernel.ids import MerchantId, UserId, new_id
from tollhouse.kernel.limits import SESSION_ABSOLUTE_S, USER_AGENT_CHARS_KEPT
from tollhouse.kernel.tokens import ALPHABET, BODY_CHARS, digest, random_base62
from tollhouse.platform.database.pool import Row

JOINED_SINCE = "You joined another merchant account after this page was opened. Nothing was changed."
Join = Callable[[Work, UUID], Awaitable[MerchantId]]


class MerchantSwitched(ApiError):
    """409: the form is on a page that was opened for another merchant account of the user."""

    code, status = "merchant_switched", 409
    message = "You switched to another merchant account in another tab. Nothing was changed."
    solution = "Open the page again. The account menu shows which merchant account is open, and changes it."


async def current_person(request: Request) -> Person | None:
    """The user of the request's session, None without an active one. Sets the request's time zone, merchant and actor."""
    id_hash = session_hash(request, "session")
    if id_hash is None:
        return None
    person = await store.find_person(
        request.services.db, id_hash, request.address, request.now, lambda: sent_devices(request)
    )
    if person is not None:
        request.zone = person.zone
        request.acting_for = str(person.merchant_id) if person.merchants > 1 else ""
        request.actor = request.actor_of("person", person.user_id)
    return person


def session_hash(request: Request, kind: cookies.Kind) -> bytes | None:
    """The digest of the session secret in the cookie; None if there is none or its form is wrong."""
    secret = cookies.session_id(request, kind)
    if secret is None or len(secret) != BODY_CHARS or not set(secret) <= set(ALPHABET):
        return None
    return digest(secret)


async def open_session(
    work: Work, request: Request, user_id: UUID, password_hash: str, merchant_id: MerchantId | None = None
) -> tuple[str, MerchantId]:
    """Open a session, ending the browser's current one; the secret for `set_cookie`, and the merchant that it acts for.

    That is `merchant_id` if the user belongs to it, else the merchant of the last session.

    Raises `InvalidCredentials` if the password was changed since it was verified, and `NoMembership`.
    """
    current = session_hash(request, "session")
    if current is not None:
        await _revoke(work, request, current)
    secret = random_base62(BODY_CHARS)
    expires_at = request.now + timedelta(seconds=SESSION_ABSOLUTE_S)
    agent = (request.headers.get("user-agent") or "")[:USER_AGENT_CHARS_KEPT].replace("\0", "") or None
    opened = await store.insert(
        work.tx, digest(secret), user_id, password_hash, request.now, expires_at, agent, request.address, merchant_id
    )
    if opened is None:
        raise InvalidCredentials
    if opened["merchant_id"] is None:
        raise NoMembership
    return secret, MerchantId(opened["merchant_id"])


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


def require_same_merchant(request: Request) -> None:
    """Raises `MerchantSwitched` for a form of a page that was not opened for the merchant that the session acts for.

    A large body is read after a first admission, and checked at the second one.
    """
    if request.method in cookies.SAFE or not request.acting_for or request.receive is None:
        return
    if request.media_type == FORM_WITH_FILES:
        sent = {request.file(ACTING_FOR).decode("utf-8", "replace")} - {""}
    else:
        sent = set(request.form().all(ACTING_FOR)) if request.media_type == FORM else set[str]()
    if sent != {request.acting_for}:
        raise MerchantSwitched(None if sent else JOINED_SINCE)


async def switch_merchant(request: Request, person: Person, merchant_id: UUID) -> str:
    """Let the session act for another merchant of the user; its new secret. Raises `NotFound` for any other merchant.

    Raises `AuthenticationRequired` if the session has ended.
    """
    secret, target = random_base62(BODY_CHARS), MerchantId(merchant_id)

    async def switch(work: Work) -> None:
        if await members_store.lock_role(work.tx, target, person.user_id) is None:
            raise NotFound
        if not await store.switch(work.tx, person, digest(secret), target):
            raise AuthenticationRequired
        for each in (person.merchant_id, target):
            await record.event(work, each, "session.switched", changed=new_values(merchant=target))

    await request.transact(switch)
    cookies.set_on_response(request, secret, SESSION_ABSOLUTE_S)
    return secret


def set_cookie(request: Request, response: Response, secret: str) -> Response:
    """Set the session cookie."""
    cookies.set_session_cookie(response, request.services.settings, secret, SESSION_ABSOLUTE_S)
    return response


async def stay_signed_in(request: Request, secret: str) -> None:
    """Let the session that was just opened stay signed in on this device, until it expires 30 days after sign-in."""
    device = remembered_device(request)
    if device is not None:
        await store.stay(request.services.db, digest(secret), device)


async def revoke_all_sessions(work: Work, person: Person) -> None:
    """Sign out everywhere, here too."""
    await store.revoke_all(work.tx, person.user_id, work.now)
    await record.event_of_user(work, person.user_id, "session.all_ended", work.actor)


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
    ended = await store.revoke(work.tx, id_hash, request.now)
    if ended is not None and ended["merchant_id"] is not None:
        by = request.actor_of("person", ended["user_id"])
        await record.event(work, MerchantId(ended["merchant_id"]), "session.ended", by=by)


async def sign_in(request: Request, email: str, password: str, code: str | None = None, *, join: Join | None = None) -> str:
    """The secret of a new session. `join` makes the user a member of the merchant that it acts for.

    Raises what `verify_password` and `verify_code` raise, `SecondFactorRequired` if a code is needed and missing, and
    `NoMembership`.
    """
    row = await verify_password(request, "sign-in", email, password, users_store.find_by_email)
    if await second_factor.state(request.services.db, row["id"]) is not None:
        if code is None:
            raise SecondFactorRequired(row["id"])
        await second_factor.verify_code(request, row["id"], code)
    return await _open_session(request, row, join=join)


async def finish_sign_in(request: Request, user_id: UUID, password_verified_at: datetime, code: str) -> str:
    """The secret of a new session after the code. Raises what `verify_code` raises, and `NoMembership`.

    `SecondFactorChanged` also if the password was changed since it was verified: the sign-in starts again.
    """
    row = await users_store.get(request.services.db, user_id)
    if row is None:
        raise AuthenticationRequired
    if row["password_changed_at"] is not None and password_verified_at < row["password_changed_at"]:
        raise SecondFactorChanged
    await second_factor.verify_code(request, user_id, code)
    return await _open_session(request, row)


async def sign_in_by_passkey(request: Request, sent: PasskeyAssertion, user_id: UUID | None = None) -> str:
    """The secret of a new session. A passkey is both factors; `user_id` has sent the password already.

    Raises what `assertions.verify` raises, and `NoMembership`.
    """
    assertion = await assertions.verify_sign_in(request, "person", sent, user_id)
    row = await users_store.get(request.services.db, assertion.passkey.holder_id)
    if row is None:
        raise PasskeyRefused
    return await _open_session(request, row, assertion)


async def _open_session(request: Request, row: Row, assertion: Assertion | None = None, *, join: Join | None = None) -> str:
    async def action(work: Work) -> str | ApiError:
        if assertion is not None and (error := await assertions.record_use(work, request, assertion)) is not None:
            return error
        joined = None if join is None else await join(work, row["id"])
        secret, merchant_id = await open_session(work, request, row["id"], row["password_hash"], joined)
        await record.event(work, merchant_id, "session.begun", by=request.actor_of("person", row["id"]))
        await _notify_of_new_device(work, request, row, merchant_id)
        return secret

    secret = await request.transact(action)
    if isinstance(secret, ApiError):
        raise secret
    remember_device(request, "sign-in", email_key(row["email"]))
    return secret


async def _notify_of_new_device(work: Work, request: Request, row: Row, merchant_id: MerchantId) -> None:
    if await users_store.record_device(work.tx, row["id"], device_hash(request), request.now):
        agent = user_agent_of(request)
        facts = NoticeFacts(
            browser=browser_of(agent), system=system_of(agent), address=request.address, at=stamp(request.now)
        )
        new = Occurrence(merchant_id, new_id(), facts, user_id=UserId(row["id"]))
        await notify_members(work, "new_device", new)
