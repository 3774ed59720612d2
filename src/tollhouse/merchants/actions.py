"""What a person can do with a merchant's account: sign up, sign in, make and revoke API keys."""

from datetime import datetime
from uuid import UUID

from tollhouse.callers import second_factor, sessions
from tollhouse.callers.model import Person
from tollhouse.callers.people import email_key, prove
from tollhouse.callers.second_factor import SecondFactorRequired
from tollhouse.catalogue import projects
from tollhouse.kernel import limits, scopes, tokens
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, UserId, new_id
from tollhouse.kernel.refusals import AuthenticationRequired, Fault, NotFound, ValidationFailed
from tollhouse.merchants import store
from tollhouse.merchants.model import (
    ApiKeyView,
    EmailTaken,
    MerchantView,
    NewApiKey,
    NewApiKeyView,
    SessionView,
    SignIn,
    SignUp,
    SignupClosed,
    UserView,
    name_faults,
)
from tollhouse.platform.db import Row, Tx
from tollhouse.platform.passwords import hash_password
from tollhouse.web.ask import Ask

HINT_CHARS = 4


async def sign_up(ask: Ask, new: SignUp) -> tuple[SessionView, str]:
    """A merchant, its first person, its first project in test, and a session. The secret goes into the cookie."""
    if not ask.house.settings.signup_open:
        raise SignupClosed
    if faults := new.faults():
        raise ValidationFailed(*faults)
    password_hash = await hash_password(new.password)
    merchant_id, user_id = MerchantId(new_id()), UserId(new_id())

    async def deed(tx: Tx) -> str:
        await store.insert_merchant(tx, merchant_id, new.business_name.strip(), ask.now)
        email = new.email.strip()
        if not await store.insert_user(tx, user_id, merchant_id, email, email_key(email), password_hash, ask.now):
            raise EmailTaken
        await projects.open_first(tx, MerchantEnv(merchant_id, "test"), ask.now)
        return await sessions.begin(tx, ask, user_id)

    secret = await ask.house.db.transact(deed)
    merchant = MerchantView(merchant_id, new.business_name.strip(), "active", stamp(ask.now))
    return SessionView(merchant, UserView(user_id, new.email.strip(), stamp(ask.now))), secret


async def sign_in(ask: Ask, who: SignIn) -> tuple[SessionView, str]:
    """A new session. Raises what `prove` does, and where there is a second factor `SecondFactorRequired` without a code."""
    row = await prove(ask, "sign-in", who.email, who.password, store.user_by_email)
    if await second_factor.state(ask.house.db, row["id"]) is not None:
        if who.code is None:
            raise SecondFactorRequired(row["id"])
        await second_factor.check(ask, row["id"], who.code)
    return await _begin(ask, row)


async def finish_sign_in(ask: Ask, user_id: UUID, code: str) -> str:
    """The secret of a new session for somebody whose password was right. Raises what `second_factor.check` does."""
    await second_factor.check(ask, user_id, code)
    row = await store.user(ask.house.db, user_id)
    if row is None:
        raise AuthenticationRequired
    return (await _begin(ask, row))[1]


def session_of(person: Person) -> SessionView:
    """Who is signed in."""
    merchant = MerchantView(
        person.merchant_id,
        person.business_name,
        "suspended" if person.suspended else "active",
        stamp(person.merchant_created_at),
    )
    return SessionView(merchant, UserView(person.user_id, person.email, stamp(person.user_created_at)))


async def make_api_key(tx: Tx, person: Person, new: NewApiKey, now: datetime) -> NewApiKeyView:
    """A key with its secret, shown this once. Raises `ValidationFailed`."""
    faults = name_faults("name", new.name, limits.KEY_NAME_CHARS_MAX)
    allowed = scopes.API if new.scopes is None else scopes.parse(new.scopes)
    if allowed is None or not allowed or not allowed.within(scopes.API):
        faults.append(
            Fault("scopes", "invalid_scope", "Scopes are API permissions of the list, at least one, none offline.")
        )
    if faults or allowed is None:
        raise ValidationFailed(*faults)
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
    return view


async def revoke_api_key(tx: Tx, person: Person, api_key_id: UUID, now: datetime) -> ApiKeyView:
    """Revoke a key; revoking it again changes nothing. Raises `NotFound`."""
    key = await store.revoke_api_key(tx, person.merchant_id, api_key_id, now)
    if key is None:
        raise NotFound
    return key


async def _begin(ask: Ask, row: Row) -> tuple[SessionView, str]:
    async with ask.house.db.transaction() as tx:
        secret = await sessions.begin(tx, ask, row["id"])
    merchant = MerchantView(
        row["merchant_id"],
        row["business_name"],
        "suspended" if row["suspended_at"] else "active",
        stamp(row["merchant_created_at"]),
    )
    return SessionView(merchant, UserView(row["id"], row["email"], stamp(row["created_at"]))), secret
