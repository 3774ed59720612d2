"""The use of passkeys: challenges, and the verification of what authenticators sign.

A challenge is a random value with its expiry and a MAC over both and the browser or session that it was made for. So none
is stored before it is used; its use is one statement, and the second use of two is refused.
"""

from datetime import timedelta
from secrets import token_bytes
from typing import Literal, Self
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity import jti_store, passkeys_store, throttle
from tollhouse.accounts.identity import webauthn_model as webauthn
from tollhouse.accounts.identity.credentials import failure_limits_of
from tollhouse.accounts.identity.mfa_pending import EPOCH, MILLISECOND
from tollhouse.accounts.identity.model import Operator, Person
from tollhouse.accounts.identity.passkeys_store import HolderKind, Passkey
from tollhouse.accounts.identity.webauthn_model import (
    USED,
    Ceremony,
    ChallengeExpired,
    ClientData,
    CreationOptions,
    CredentialDescriptor,
    PasskeyAssertion,
    PasskeyCopied,
    PasskeyRefused,
    PasskeysUnavailable,
    PasskeyUse,
    RelyingParty,
    RequestOptions,
)
from tollhouse.http import cookies
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import base64url
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.limits import PASSKEY_CHALLENGE_S
from tollhouse.kernel.tokens import BODY_CHARS, random_base62
from tollhouse.platform.encryption import MAC_BYTES

PURPOSE = b"passkey challenge:"
RANDOM_BYTES, TIME_BYTES = 16, 8
LIFETIME = timedelta(seconds=PASSKEY_CHALLENGE_S)
BROWSER_COOKIES: dict[HolderKind, Literal["passkey", "operator_passkey"]] = {
    "person": "passkey",
    "operator": "operator_passkey",
}


class Holder(Struct, frozen=True):
    """The account of a session. `person` is None for an operator."""

    kind: HolderKind
    holder_id: UUID
    email: str
    language: str
    session_hash: bytes
    person: Person | None = None

    @classmethod
    def of(cls, request: Request, caller: Person | Operator) -> Self:
        """The account of a caller. Emails to operators are in the language of the request."""
        if isinstance(caller, Person):
            return cls("person", caller.user_id, caller.email, caller.language, caller.session_hash, caller)
        return cls("operator", caller.operator_id, caller.email, language_of(request), caller.session_hash)


class Assertion(Struct, frozen=True):
    """A verified assertion, not recorded yet."""

    passkey: Passkey
    use: PasskeyUse


def relying_party(request: Request) -> RelyingParty:
    """This server. Raises `PasskeysUnavailable`."""
    party = RelyingParty.of(request.services.settings)
    if party is None:
        raise PasskeysUnavailable
    return party


def sign_in_options(request: Request, kind: HolderKind) -> RequestOptions:
    """The options of a sign-in with any passkey of this server that the browser has. Sets a cookie for the browser."""
    name = cookies.cookie_name(request.services.settings, BROWSER_COOKIES[kind])
    browser = cookies.cookie_value(request, name) or random_base62(BODY_CHARS)
    cookies.set_on_response(request, browser, PASSKEY_CHALLENGE_S, BROWSER_COOKIES[kind])
    return _options(request, kind, browser.encode(), [])


def sign_in_attribute(request: Request, kind: HolderKind) -> str:
    """`sign_in_options` for a page; empty if this server has no passkeys."""
    is_available = RelyingParty.of(request.services.settings) is not None
    return as_attribute(sign_in_options(request, kind)) if is_available else ""


async def confirmation_attribute(request: Request, holder: Holder) -> str:
    """`confirmation_options` for a page; empty if the account has no passkey that works here."""
    if RelyingParty.of(request.services.settings) is None:
        return ""
    options = await confirmation_options(request, holder)
    return as_attribute(options) if options.allow_credentials else ""


def as_attribute(options: RequestOptions | CreationOptions) -> str:
    """Options for an attribute of a page, as JSON."""
    return msgspec.json.encode(options).decode()


async def confirmation_options(request: Request, holder: Holder) -> RequestOptions:
    """The options to confirm a session with a passkey of its account."""
    passkeys = await passkeys_store.list_of(request.services.db, holder.holder_id)
    return _options(request, holder.kind, holder.session_hash, passkeys)


def descriptors(passkeys: list[Passkey], party: RelyingParty) -> list[CredentialDescriptor]:
    """The passkeys that work at this host, for a browser."""
    return [
        CredentialDescriptor(base64url.encode(passkey.credential_id), "public-key", passkey.transports)
        for passkey in passkeys
        if passkey.rp_id == party.id
    ]


def new_challenge(request: Request, ceremony: Ceremony, kind: HolderKind, bound_to: bytes) -> str:
    """A challenge for this browser or session, in base64url."""
    expires_ms = (request.now + LIFETIME - EPOCH) // MILLISECOND
    head = token_bytes(RANDOM_BYTES) + expires_ms.to_bytes(TIME_BYTES)
    return base64url.encode(head + request.services.keys.mac(_mac_input(ceremony, kind, bound_to, head)))


async def use_challenge(request: Request, ceremony: Ceremony, kind: HolderKind, bound_to: bytes, challenge: bytes) -> None:
    """Use a challenge, whatever comes of it. Raises `ChallengeExpired`."""
    head, mac = challenge[:-MAC_BYTES], challenge[-MAC_BYTES:]
    if len(head) != RANDOM_BYTES + TIME_BYTES or not request.services.keys.verify_mac(
        _mac_input(ceremony, kind, bound_to, head), mac
    ):
        raise ChallengeExpired
    expires_at = EPOCH + int.from_bytes(head[RANDOM_BYTES:]) * MILLISECOND
    if request.now >= expires_at or not await jti_store.use(request.services.db, "passkey", "", head.hex(), expires_at):
        raise ChallengeExpired


async def verify_sign_in(
    request: Request, kind: HolderKind, sent: PasskeyAssertion, holder_id: UUID | None = None
) -> Assertion:
    """The assertion of a sign-in: of any account, or as its second factor. Raises what `verify` raises."""
    name = cookies.cookie_name(request.services.settings, BROWSER_COOKIES[kind])
    return await _verify(request, kind, sent, (cookies.cookie_value(request, name) or "").encode(), holder_id)


async def verify(request: Request, holder: Holder, sent: PasskeyAssertion) -> Assertion:
    """The assertion of an account with a session.

    Raises `WrongOrigin`, `ChallengeExpired`, `RateLimited`, `PasskeyRefused`, `UserVerificationRequired`, and
    `ValidationFailed` for what no browser sends.
    """
    return await _verify(request, holder.kind, sent, holder.session_hash, holder.holder_id)


async def _verify(
    request: Request, kind: HolderKind, sent: PasskeyAssertion, bound_to: bytes, holder_id: UUID | None
) -> Assertion:
    party = relying_party(request)
    credential_id = webauthn.decode(sent.raw_id, "assertion.rawId")
    client = webauthn.read_client_data(sent.response.client_data_json, "webauthn.get", party)
    limits = failure_limits_of(request, "passkey", sent.raw_id)
    await throttle.require_below(request.services.db, limits, request.now)
    await use_challenge(request, "webauthn.get", kind, bound_to, client.challenge)
    passkey = await passkeys_store.find(request.services.db, credential_id, kind, party.id)
    try:
        return _assertion(passkey, sent, client, party, holder_id)
    except PasskeyRefused:
        holder = holder_id or (None if passkey is None else passkey.holder_id)
        wait = await throttle.record_failure(request.services.db, limits, request.now)
        if holder is not None:
            await request.transact(lambda work: _record_failure(work, request, holder))
        if wait is not None:
            raise throttle.RateLimited(wait) from None
        raise


def _assertion(
    passkey: Passkey | None, sent: PasskeyAssertion, client: ClientData, party: RelyingParty, holder_id: UUID | None
) -> Assertion:
    """The assertion of this passkey and, if it is given, of this account. Raises what `webauthn.verify_assertion` raises."""
    if passkey is None or holder_id not in {None, passkey.holder_id} or not _is_of(passkey, sent):
        raise PasskeyRefused
    key, backup_eligible = passkey.public_key, passkey.backup_eligible
    return Assertion(passkey, webauthn.verify_assertion(sent.response, client, party, key, backup_eligible=backup_eligible))


async def use(request: Request, holder: Holder, sent: PasskeyAssertion) -> None:
    """Verify and record the assertion of an account with a session. Raises what `verify` raises, and `PasskeyCopied`."""
    assertion = await verify(request, holder, sent)
    error = await request.transact(lambda work: record_use(work, request, assertion))
    if error is not None:
        raise error


async def record_use(work: Work, request: Request, assertion: Assertion) -> ApiError | None:
    """Record the use of the passkey in the transaction of what it allows. An error is returned, so that it is audited."""
    passkey = assertion.passkey
    if await passkeys_store.use(work.tx, passkey.id, assertion.use, work.now):
        return None
    if not await passkeys_store.exists(work.tx, passkey.id):
        return PasskeyRefused()
    await _record_failure(work, request, passkey.holder_id)
    return PasskeyCopied()


def read_form(text: str) -> PasskeyAssertion:
    """The assertion in the field of a form. Raises `ValidationFailed`."""
    return webauthn.read(text, PasskeyAssertion, USED)


async def _record_failure(work: Work, request: Request, holder_id: UUID) -> None:
    await record.event_of_user(work, holder_id, "passkey.refused", request.actor_of("person", holder_id))


def _is_of(passkey: Passkey, sent: PasskeyAssertion) -> bool:
    """Whether the authenticator names the account of the passkey, if it names one."""
    return sent.response.user_handle in {None, "", base64url.encode(passkey.holder_id.bytes)}


def _options(request: Request, kind: HolderKind, bound_to: bytes, passkeys: list[Passkey]) -> RequestOptions:
    party = relying_party(request)
    challenge = new_challenge(request, "webauthn.get", kind, bound_to)
    return RequestOptions(challenge, party.id, descriptors(passkeys, party))


def _mac_input(ceremony: Ceremony, kind: HolderKind, bound_to: bytes, head: bytes) -> bytes:
    return PURPOSE + f"{ceremony}.{kind}.".encode() + head + bound_to
