"""The actions on a merchant account: sign-up, API keys, business settings."""

from ipaddress import ip_network
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import Changes, changes, new_values
from tollhouse.accounts.environments import projects
from tollhouse.accounts.identity import members_store, sessions, sessions_store, throttle, users_store
from tollhouse.accounts.identity import store as identity_store
from tollhouse.accounts.identity.browsers import device_hash, remember_device
from tollhouse.accounts.identity.credentials import SPAN, email_key
from tollhouse.accounts.identity.emails import require_verified_email
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import SHORTEST, ErrorDelay, FailureLimit, RateLimited
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email
from tollhouse.accounts.merchants import store
from tollhouse.accounts.merchants.model import (
    ApiKeyView,
    Business,
    EmailTaken,
    MerchantView,
    NewApiKey,
    NewApiKeyView,
    SessionView,
    SignUp,
    SignupClosed,
    UserView,
)
from tollhouse.accounts.spending.limits import ensure_recipients
from tollhouse.accounts.spending.model import NO_LIMITS, Limits, limits_of
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import tokens
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import AuthenticationRequired, NotFound, TemporarilyUnavailable, ValidationFailed
from tollhouse.kernel.ids import MerchantId, Mode, UserId, new_id
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.passwords import SIGN_UP, hash_password

HINT_CHARS = 4
ERROR_DELAY = ErrorDelay(SHORTEST, 500)


async def sign_up(request: Request, new: SignUp) -> tuple[SessionView, str]:
    """Create a merchant with its first user, a test project and a session; the session's secret is for the cookie."""
    if not request.services.settings.signup_open:
        raise SignupClosed
    if field_errors := new.field_errors():
        raise ValidationFailed(*field_errors)
    password_hash = await hash_within_limits(request, new.password)
    merchant_id, user_id = MerchantId(new_id()), UserId(new_id())
    name, email = new.business_name.strip(), new.email.strip()

    async def action(work: Work) -> str:
        await store.insert_merchant(work.tx, merchant_id, name, request.now)
        if not await users_store.insert(
            work.tx,
            user_id,
            merchant_id,
            email=email,
            key=email_key(email),
            password_hash=password_hash,
            language=language_of(request),
            now=request.now,
        ):
            raise EmailTaken
        await members_store.insert(work.tx, merchant_id, user_id, "owner", request.now)
        by = request.actor_of("person", user_id)
        await record.event(work, merchant_id, "account.opened", name=email, by=by)
        await projects.open_first(work.tx, MerchantEnv(merchant_id, "test"), request.now)
        await users_store.record_device(work.tx, user_id, device_hash(request), request.now)
        await outbox.enqueue(work.tx, Email("verify", email, language_of(request), user_id), request.now)
        secret, _ = await sessions.open_session(work, request, user_id, password_hash)
        return secret

    secret = await request.transact(action)
    remember_device(request, "sign-in", email_key(email))
    return await new_session_view(request, secret), secret


async def session_view(db: Pool, person: Person) -> SessionView:
    """The session of a user who is signed in."""
    status = "suspended" if person.suspended else "active"
    return SessionView(
        MerchantView(person.merchant_id, person.business_name, status, stamp(person.merchant_created_at)),
        UserView(person.user_id, person.email, stamp(person.user_created_at)),
        person.role,
        await members_store.list_of_merchant(db, person.merchant_id),
        await members_store.list_of_user(db, person.user_id),
    )


async def new_session_view(request: Request, secret: str) -> SessionView:
    """The session that was just opened."""
    db = request.services.db
    person = await sessions_store.find_person(db, tokens.digest(secret), request.address, request.now)
    if person is None:
        raise AuthenticationRequired
    return await session_view(db, person)


async def create_api_key(work: Work, person: Person, new: NewApiKey) -> NewApiKeyView:
    """Create an API key; its secret is returned only here.

    Raises `ValidationFailed`, `EmailUnverified`, `EverythingStops`, and `AuthenticationRequired` if the session has ended.
    """
    catalogue = work.services.catalogue
    field_errors, allowed = new.field_errors(catalogue), new.allowed_scopes()
    if field_errors or allowed is None:
        raise ValidationFailed(*field_errors)
    person.require_scopes(allowed, new.mode)
    env = MerchantEnv(person.merchant_id, new.mode)
    await require_verified_email(work.tx, work.services.settings, env, person)
    limits = limits_of(new.limits, new.recipients, new.expires_at, catalogue)
    await ensure_recipients(work.tx, env, limits)
    await identity_store.begin_credential(work.tx, env)
    if not await sessions_store.lock_with_role(work.tx, person):
        raise AuthenticationRequired
    # Nothing below this line may refuse.
    secret = tokens.mint(tokens.LIVE_API_KEY_PREFIX if new.mode == "live" else tokens.TEST_API_KEY_PREFIX)
    view = NewApiKeyView(
        api_key_id=new_id(),
        name=new.name.strip(),
        mode=new.mode,
        livemode=new.mode == "live",
        scopes=allowed.names(),
        hint=secret[-HINT_CHARS:],
        status="active",
        created_at=stamp(work.now),
        last_used_at=None,
        allowed_networks=[str(ip_network(text)) for text in new.allowed_networks],
        proposals_only=new.proposals_only,
        api_key=secret,
        **limits.members(catalogue, "expires_at"),
    )
    await store.insert_api_key(work.tx, person, view, allowed.mask, tokens.digest(secret), limits, work.now)
    await _record_key_event(work, person, view, "api_key.made", _made(view, limits, work))
    return view


def _made(view: ApiKeyView, limits: Limits, work: Work) -> Changes:
    """What the audit log says of a new key."""
    described = limits.described(work.services.catalogue) if limits != NO_LIMITS else {}
    return new_values(
        scopes=view.scopes,
        allowed_networks=view.allowed_networks or None,
        proposals_only=view.proposals_only or None,
        **described,
    )


async def revoke_api_key(work: Work, person: Person, api_key_id: UUID, mode: Mode | None = None) -> ApiKeyView:
    """Revoke a key, of this `mode` if given. Revoking it again has no effect. Raises `NotFound`."""
    key = await store.get_api_key(work.tx, person.merchant_id, api_key_id, work.services.catalogue)
    if key is None or mode not in {None, key.mode}:
        raise NotFound
    revoked = await store.revoke_api_key(work.tx, person.merchant_id, api_key_id, work.services.catalogue, work.now)
    if revoked is None:
        return await store.get_api_key(work.tx, person.merchant_id, api_key_id, work.services.catalogue) or key
    await _record_key_event(work, person, revoked, "api_key.revoked")
    return revoked


async def change_business(work: Work, person: Person, new: Business, seen: Business) -> Business:
    """Save the business settings if they still are as `seen`; the current settings."""
    if not await store.update_business(work.tx, person.merchant_id, new, seen):
        return await store.get_business(work.tx, person.merchant_id)
    await record.event(work, person.merchant_id, "settings.business_saved", changed=changes(seen, new))
    return new


async def _record_key_event(
    work: Work, person: Person, key: ApiKeyView, event_type: AuditEventType, changed: Changes | None = None
) -> None:
    env = MerchantEnv(person.merchant_id, key.mode)
    name = f"{key.name} …{key.hint}"
    await record.event(work, env, event_type, subject=key.api_key_id, name=name, changed=changed)


async def hash_within_limits(request: Request, password: str) -> str:
    """Raises `RateLimited` and `TemporarilyUnavailable`, after a delay that slows down floods and immediate retries."""
    settings = request.services.settings
    try:
        SIGN_UP.ensure_capacity(settings.password_queue)
        await _count_sign_up(request)
        return await hash_password(password, SIGN_UP, settings.password_queue, paced=settings.rate_limits)
    except (RateLimited, TemporarilyUnavailable):
        if settings.rate_limits:
            await ERROR_DELAY.wait()
        raise


async def _count_sign_up(request: Request) -> None:
    """Count a sign-up from this address, before the password is hashed. Raises `RateLimited`."""
    settings = request.services.settings
    limit = settings.rate_signup_address_per_15_min * settings.rate_limits
    limits = (FailureLimit("sign-up from", throttle.network_of(request.address), limit, SPAN),)
    await throttle.count_attempt(request.services.db, limits, request.now)
