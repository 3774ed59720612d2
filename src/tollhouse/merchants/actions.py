"""What a person can do with a merchant's account: sign up, sign in, make and revoke API keys.

Who signs in with a device that was not seen before is told by mail: should it be somebody else, they know it first.
"""

from datetime import datetime
from uuid import UUID

from tollhouse.audit import author, record
from tollhouse.audit.changes import Changes, changes, made
from tollhouse.audit.event_types import AuditEventType
from tollhouse.catalogue import projects
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Services
from tollhouse.identity import second_factor, sessions, sessions_store, throttle
from tollhouse.identity.known_devices import remember_device
from tollhouse.identity.model import Person
from tollhouse.identity.people import SPAN, email_key, prove
from tollhouse.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.identity.throttle import SHORTEST, Delay, RateLimited, Watch, source_of
from tollhouse.identity.verified import require_verified_email
from tollhouse.kernel import tokens
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import AuthenticationRequired, NotFound, TemporarilyUnavailable, ValidationFailed
from tollhouse.kernel.ids import MerchantId, Mode, UserId, new_id
from tollhouse.mail import outbox
from tollhouse.mail.model import Letter
from tollhouse.merchants import business_store, store
from tollhouse.merchants.devices import browser_of, device_hash, system_of
from tollhouse.merchants.model import (
    ApiKeyView,
    Business,
    EmailTaken,
    MerchantView,
    NewApiKey,
    NewApiKeyView,
    SessionView,
    SignIn,
    SignUp,
    SignupClosed,
    UserView,
)
from tollhouse.platform.db import Row, Tx
from tollhouse.platform.passwords import SIGN_UP, hash_password

HINT_CHARS = 4
REFUSED_SIGN_UPS = Delay(SHORTEST, 500)


async def sign_up(request: Request, new: SignUp) -> tuple[SessionView, str]:
    """A merchant, its first person, its first project in test, and a session. The secret goes into the cookie."""
    if not request.services.settings.signup_open:
        raise SignupClosed
    if field_errors := new.field_errors():
        raise ValidationFailed(*field_errors)
    password_hash = await _hash_within_limits(request, new.password)
    merchant_id, user_id = MerchantId(new_id()), UserId(new_id())

    async def action(tx: Tx) -> str:
        await store.insert_merchant(tx, merchant_id, new.business_name.strip(), request.now)
        email = new.email.strip()
        if not await store.insert_user(
            tx,
            user_id,
            merchant_id,
            email=email,
            key=email_key(email),
            password_hash=password_hash,
            language=language_of(request),
            now=request.now,
        ):
            raise EmailTaken
        await record.note(tx, merchant_id, "account.opened", request.now, name=email, by=author.person(request, user_id))
        await projects.open_first(tx, MerchantEnv(merchant_id, "test"), request.now)
        await store.is_new_device(tx, user_id, device_hash(_agent(request), request.address), request.now)
        await outbox.put(tx, Letter("verify", email, language_of(request), user_id), request.now)
        await sessions.end_offered(tx, request)
        return await sessions.begin(tx, request, user_id, password_hash)

    secret = await request.services.db.transact(action)
    remember_device(request, "sign-in", email_key(new.email))
    merchant = MerchantView(merchant_id, new.business_name.strip(), "active", stamp(request.now))
    return SessionView(merchant, UserView(user_id, new.email.strip(), stamp(request.now))), secret


async def sign_in(request: Request, who: SignIn) -> tuple[SessionView, str]:
    """A new session. Raises what `prove` does, and where there is a second factor `SecondFactorRequired` without a code."""
    row = await prove(request, "sign-in", who.email, who.password, store.user_by_email)
    if await second_factor.state(request.services.db, row["id"]) is not None:
        if who.code is None:
            raise SecondFactorRequired(row["id"])
        await second_factor.check(request, row["id"], who.code)
    return await _begin(request, row)


async def finish_sign_in(request: Request, user_id: UUID, since: datetime, code: str) -> str:
    """The secret of a new session for somebody whose password was right then. Raises what `second_factor.check` does.

    Of a password that was changed since it is `SecondFactorChanged` too: all is asked for anew.
    """
    row = await store.user(request.services.db, user_id)
    if row is None:
        raise AuthenticationRequired
    if row["password_changed_at"] is not None and since < row["password_changed_at"]:
        raise SecondFactorChanged
    await second_factor.check(request, user_id, code)
    return (await _begin(request, row))[1]


def session_of(person: Person) -> SessionView:
    """Who is signed in."""
    merchant = MerchantView(
        person.merchant_id,
        person.business_name,
        "suspended" if person.suspended else "active",
        stamp(person.merchant_created_at),
    )
    return SessionView(merchant, UserView(person.user_id, person.email, stamp(person.user_created_at)))


async def make_api_key(tx: Tx, person: Person, new: NewApiKey, services: Services, now: datetime) -> NewApiKeyView:
    """A key with its secret, shown this once.

    Raises `ValidationFailed`, `EmailUnverified`, and `AuthenticationRequired` without a session.
    """
    field_errors, allowed = new.field_errors(), new.allowed()
    if field_errors or allowed is None:
        raise ValidationFailed(*field_errors)
    await require_verified_email(tx, services.settings, MerchantEnv(person.merchant_id, new.mode), person)
    if not await sessions_store.hold(tx, person.session_hash):
        raise AuthenticationRequired
    # Nothing below this line may refuse.
    secret = tokens.mint("th_live" if new.mode == "live" else "th_test")
    view = NewApiKeyView(
        api_key_id=new_id(),
        name=new.name.strip(),
        mode=new.mode,
        livemode=new.mode == "live",
        scopes=allowed.names(),
        hint=secret[-HINT_CHARS:],
        status="active",
        created_at=stamp(now),
        last_used_at=None,
        api_key=secret,
    )
    await store.insert_api_key(tx, person.merchant_id, view, allowed.mask, tokens.digest(secret), now)
    await _note_key(tx, person, view, "api_key.made", now, made(scopes=view.scopes))
    return view


async def revoke_api_key(tx: Tx, person: Person, api_key_id: UUID, now: datetime, mode: Mode | None = None) -> ApiKeyView:
    """Revoke a key, of this mode where one is named; revoking it again changes nothing. Raises `NotFound`."""
    key = await store.api_key(tx, person.merchant_id, api_key_id)
    if key is None or mode not in {None, key.mode}:
        raise NotFound
    revoked = await store.revoke_api_key(tx, person.merchant_id, api_key_id, now)
    if revoked is None:
        return await store.api_key(tx, person.merchant_id, api_key_id) or key
    await _note_key(tx, person, revoked, "api_key.revoked", now)
    return revoked


async def change_business(tx: Tx, person: Person, new: Business, seen: Business, now: datetime) -> Business:
    """Say something else of the business, where what was seen is still what is said; what is said then."""
    if not await business_store.change(tx, person.merchant_id, new, seen):
        return await business_store.business(tx, person.merchant_id)
    await record.note(tx, person.merchant_id, "settings.business_saved", now, changed=changes(seen, new))
    return new


async def _note_key(
    tx: Tx, person: Person, key: ApiKeyView, action: AuditEventType, now: datetime, changed: Changes | None = None
) -> None:
    env = MerchantEnv(person.merchant_id, key.mode)
    name = f"{key.name} …{key.hint}"
    await record.note(tx, env, action, now, subject=key.api_key_id, name=name, changed=changed)


async def _begin(request: Request, row: Row) -> tuple[SessionView, str]:
    async with request.services.db.transaction() as tx:
        await sessions.end_offered(tx, request)
        secret = await sessions.begin(tx, request, row["id"], row["password_hash"])
        by = author.person(request, row["id"])
        await record.note(tx, MerchantId(row["merchant_id"]), "session.begun", request.now, by=by)
        await _tell_of_new_device(tx, request, row)
    remember_device(request, "sign-in", email_key(row["email"]))
    merchant = MerchantView(
        row["merchant_id"],
        row["business_name"],
        "suspended" if row["suspended_at"] else "active",
        stamp(row["merchant_created_at"]),
    )
    return SessionView(merchant, UserView(row["id"], row["email"], stamp(row["created_at"]))), secret


async def _hash_within_limits(request: Request, password: str) -> str:
    """Raises `RateLimited` and `TemporarilyUnavailable`, late: who asks again at once is slowed down, and so is a flood."""
    settings = request.services.settings
    try:
        SIGN_UP.require_room(settings.password_queue)
        await _count_sign_up(request)
        return await hash_password(password, SIGN_UP, settings.password_queue, paced=settings.rate_limits)
    except (RateLimited, TemporarilyUnavailable):
        if settings.rate_limits:
            await REFUSED_SIGN_UPS.wait()
        raise


async def _count_sign_up(request: Request) -> None:
    """Count a sign-up of this address, before it costs anything. Raises `RateLimited`."""
    settings = request.services.settings
    most = settings.rate_signup_address_per_15_min * settings.rate_limits
    watches = (Watch("sign-up from", source_of(request.address), most, SPAN),)
    wait = await throttle.wait_for(request.services.db, watches, request.now) or await throttle.count_failure(
        request.services.db, watches, request.now
    )
    if wait is not None:
        raise RateLimited(wait)


async def _tell_of_new_device(tx: Tx, request: Request, row: Row) -> None:
    agent = _agent(request)
    if await store.is_new_device(tx, row["id"], device_hash(agent, request.address), request.now):
        facts = {"browser": browser_of(agent), "system": system_of(agent), "address": request.address}
        await outbox.put(tx, Letter("new_device", row["email"], row["language"], row["id"], facts), request.now)


def _agent(request: Request) -> str:
    return request.headers.get("user-agent") or ""
