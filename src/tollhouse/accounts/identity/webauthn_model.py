"""Web Authentication (W3C, Level 3): what browsers send and get, and the verification of what authenticators answer.

Attestation is not asked for and not read: any authenticator may be used. User verification is always required.
"""

import hashlib
import hmac
import struct
from ipaddress import ip_address
from typing import Annotated, Any, Literal, Self, TypeVar, cast
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from fido2 import cbor
from fido2.cose import CoseKey
from fido2.webauthn import AttestationObject, AuthenticatorData
from msgspec import Meta, Struct, field

from tollhouse.accounts.identity import webauthn_examples as examples
from tollhouse.kernel import base64url, foreign_json
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.limits import PASSKEY_CHALLENGE_S
from tollhouse.kernel.text import Text
from tollhouse.platform.settings.config import Settings
from tollhouse.platform.settings.values import is_local_origin

ALGORITHMS = (-7, -8, -257, -35, -36)
"""ES256, EdDSA with Ed25519, RS256, ES384, ES512, by COSE number. Platform authenticators of Windows may have RS256 only."""
ALGORITHM = 3
"""The parameter of a COSE key with its algorithm."""
MEMBER_CHARS_MAX = 8_192
"""Without attestation, the longest are those of a key of RSA: about 3,000."""
CREDENTIAL_ID_BYTES_MAX = 1_023
KEY_BYTES_MAX = 1_100
TRANSPORTS = ("ble", "hybrid", "internal", "nfc", "smart-card", "usb")
TIMEOUT_MS = PASSKEY_CHALLENGE_S * 1000
Ceremony = Literal["webauthn.create", "webauthn.get"]
T = TypeVar("T")
CREATED, USED = "credential.response", "assertion.response"
"""The members of requests that have what authenticators answer."""
CLIENT_DATA: dict[Ceremony, str] = {"webauthn.create": f"{CREATED}.clientDataJSON", "webauthn.get": f"{USED}.clientDataJSON"}
Base64Url = Annotated[str, Meta(max_length=MEMBER_CHARS_MAX, pattern="^[A-Za-z0-9_-]*$")]
UNREADABLE = (
    ValueError, TypeError, LookupError, AttributeError, AssertionError, ArithmeticError, RecursionError, struct.error,
    NotImplementedError, UnsupportedAlgorithm,
)  # fmt: skip
"""What parsers of bytes that others wrote raise."""


class PasskeysUnavailable(ApiError):
    """409: browsers have passkeys for host names only, and the base URL has an IP address."""

    code, status = "passkeys_unavailable", 409
    message = "Passkeys need a host name, and the address of this server is an IP address."
    solution = "Use the server by a host name: an operator sets `TOLLHOUSE_BASE_URL`."


class PasskeyRefused(ApiError):
    """401: unknown, removed or of another account, or not signed by it: with one message for all."""

    code, status = "invalid_passkey", 401
    message = "This passkey cannot be used here. Use another passkey, or your password."
    solution = "Use a passkey of this account, or the password."


class PasskeyCopied(ApiError):
    """401: the signature counter did not grow, so that two authenticators may have the key."""

    code, status = "passkey_copied", 401
    message = "This passkey may have been copied: its counter went back. Sign in another way, and remove the passkey."
    solution = "Sign in with the password or another passkey, then remove this one."


class UserVerificationRequired(ApiError):
    """401: the authenticator did not ask for PIN, fingerprint or face."""

    code, status = "user_verification_required", 401
    message = "Your device did not verify you. Set up a PIN, fingerprint or face recognition, then try again."
    solution = "Request the passkey with `userVerification: required`, as the options say."


class ChallengeExpired(ApiError):
    """401: the challenge is unknown, of another browser, used, or older than five minutes."""

    code, status = "challenge_expired", 401
    message = "This request has expired or was used already. Try again."
    solution = "Request new options, then use the passkey within five minutes."


class WrongOrigin(ApiError):
    """401: the passkey was used on a page of another address."""

    code, status = "wrong_origin", 401
    solution = "Use the passkey on a page of the base URL of this server."

    def __init__(self, origin: str) -> None:
        super().__init__(Text("Passkeys work only at %(origin)s. Open this page there.", origin=origin))


class RelyingParty(Struct, frozen=True):
    """This server as browsers know it. `is_local`: development, where any port of this machine may be used."""

    id: str
    origin: str
    is_local: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """From the base URL; None if its host is an IP address. On this machine it is always `localhost`."""
        if settings.is_local:
            port = urlsplit(settings.base_url).port
            return cls("localhost", f"{urlsplit(settings.base_url).scheme}://localhost{f':{port}' if port else ''}", True)
        host = urlsplit(settings.base_url).hostname or ""
        try:
            ip_address(host)
        except ValueError:
            return cls(host, settings.origin)
        return None

    def accepts(self, origin: str) -> bool:
        """Whether a page of this origin is one of this server."""
        return origin == self.origin or (self.is_local and is_local_origin(origin))


class AttestationResponse(Struct, frozen=True):
    """The response of a new passkey."""

    client_data_json: Annotated[Base64Url, examples.CLIENT_DATA_OF_NEW] = field(name="clientDataJSON")
    attestation_object: Annotated[Base64Url, examples.ATTESTATION] = field(name="attestationObject")
    """The authenticator data, with the public key of the passkey, as CBOR in base64url."""
    transports: Annotated[list[Annotated[str, Meta(max_length=32)]], Meta(max_length=16)] = []
    """How the browser reaches the authenticator."""


class PasskeyRegistration(Struct, frozen=True):
    """The new credential: what `navigator.credentials.create()` returned, by `toJSON()`."""

    response: AttestationResponse
    """What the authenticator answered."""
    type: Literal["public-key"]
    """Kind of credential: always `public-key`."""


class AssertionResponse(Struct, frozen=True):
    """The response of a passkey."""

    client_data_json: Annotated[Base64Url, examples.CLIENT_DATA_OF_USE] = field(name="clientDataJSON")
    authenticator_data: Annotated[Base64Url, examples.AUTHENTICATOR_DATA] = field(name="authenticatorData")
    """Hash of the `rpId`, flags such as whether the user was verified, and the signature counter, in base64url."""
    signature: Annotated[Base64Url, examples.SIGNATURE]
    """Signature of `authenticatorData` and the SHA-256 hash of the client data by the passkey, in base64url."""
    user_handle: Base64Url | None = field(name="userHandle", default=None)
    """The account that the passkey was created for."""


class PasskeyAssertion(Struct, frozen=True):
    """The assertion: what `navigator.credentials.get()` returned, by `toJSON()`."""

    raw_id: Annotated[Base64Url, examples.CREDENTIAL_ID] = field(name="rawId")
    """ID that the authenticator gave the passkey, in base64url."""
    response: AssertionResponse
    """What the authenticator answered."""
    type: Literal["public-key"]
    """Kind of credential: always `public-key`."""


class CredentialDescriptor(Struct, frozen=True):
    """A passkey that may be used, or that exists already."""

    id: Annotated[str, examples.CREDENTIAL_ID]
    """ID that the authenticator gave the passkey, in base64url."""
    type: Literal["public-key"]
    """Kind of credential: always `public-key`."""
    transports: Annotated[list[str], example(["hybrid", "internal"])]


class RequestOptions(Struct, frozen=True, rename="camel"):
    """The options of `navigator.credentials.get()`, for `PublicKeyCredential.parseRequestOptionsFromJSON()`."""

    challenge: Annotated[str, examples.CHALLENGE]
    rp_id: Annotated[str, examples.RP_ID]
    """Host name of the server, which its passkeys belong to."""
    allow_credentials: list[CredentialDescriptor]
    """Empty: any passkey of this server that the browser has."""
    timeout: Annotated[int, example(TIMEOUT_MS)] = TIMEOUT_MS
    """Milliseconds until the challenge expires."""
    user_verification: Literal["required"] = "required"


class RelyingPartyEntity(Struct, frozen=True):
    """The server, as the authenticator shows it."""

    id: Annotated[str, examples.RP_ID]
    """Host name of the server, which its passkeys belong to."""
    name: Annotated[str, example("Tollhouse")]
    """Name of the server."""


class UserEntity(Struct, frozen=True, rename="camel"):
    """The account, as the authenticator shows it."""

    id: Annotated[str, example("AZ8Nf3qSdAC2m5xzQe7UXA")]
    """ID of the account in base64url, which uses of the passkey return as `userHandle`."""
    name: Annotated[str, example("ada@shop.example")]
    """Email address of the account."""
    display_name: Annotated[str, example("ada@shop.example")]
    """What authenticators show for the account: its email address."""


class CredentialParameters(Struct, frozen=True):
    """An algorithm that the server can verify."""

    alg: Annotated[int, example(-7)]
    """COSE number of a signature algorithm, such as -7 for ES256."""
    type: Literal["public-key"] = "public-key"
    """Kind of credential: always `public-key`."""


class AuthenticatorSelection(Struct, frozen=True, rename="camel"):
    """A passkey can be found without an email address, and verifies its user."""

    resident_key: Literal["required"] = "required"
    """Always `required`: the authenticator keeps the passkey, so that it can be found without an email address."""
    require_resident_key: bool = True
    """Always true: the same as `residentKey`, for browsers that know only Level 1 of the specification."""
    user_verification: Literal["required"] = "required"


class CreationOptions(Struct, frozen=True, rename="camel"):
    """The options of `navigator.credentials.create()`, for `PublicKeyCredential.parseCreationOptionsFromJSON()`."""

    rp: RelyingPartyEntity
    """The server that the passkey is for, called the relying party."""
    user: UserEntity
    """The account that the passkey is for."""
    challenge: Annotated[str, examples.CHALLENGE]
    exclude_credentials: list[CredentialDescriptor]
    """The passkeys of the account, so that an authenticator gets no second one."""
    pub_key_cred_params: tuple[CredentialParameters, ...] = tuple(map(CredentialParameters, ALGORITHMS))
    authenticator_selection: AuthenticatorSelection = AuthenticatorSelection()
    """What the authenticator must be able to do."""
    attestation: Literal["none"] = "none"
    """Always `none`: the authenticator need not prove its make."""
    timeout: Annotated[int, example(TIMEOUT_MS)] = TIMEOUT_MS
    """Milliseconds until the challenge expires."""


class ClientData(Struct, frozen=True):
    """What the browser says about a ceremony, which the authenticator signs: the decoded challenge and the digest of all."""

    challenge: bytes
    hash: bytes


class VerifiedPasskey(Struct, frozen=True):
    """A verified registration. `public_key` is in COSE."""

    credential_id: bytes
    public_key: bytes
    sign_count: int
    transports: list[str]
    backup_eligible: bool
    backed_up: bool


class PasskeyUse(Struct, frozen=True):
    """A verified assertion: the state of the authenticator after it."""

    sign_count: int
    backed_up: bool


class _CollectedClientData(Struct, rename="camel"):
    type: str
    challenge: str
    origin: str
    cross_origin: bool = False
    top_origin: str | None = None


def decode(text: str, name: str) -> bytes:
    """From base64url without padding. Raises `ValidationFailed` if the text has another form."""
    raw = base64url.decode(text)
    if raw is None or len(text) > MEMBER_CHARS_MAX:
        raise malformed(name)
    return raw


def malformed(name: str) -> ValidationFailed:
    """The error of a member that is not what authenticators and browsers send."""
    return ValidationFailed(FieldError(name, "invalid_value", "This must be what the browser returned, unchanged."))


def read(text: str, shape: type[T], name: str) -> T:
    """What the browser returned, as JSON in the field of a form. Raises `ValidationFailed`."""
    try:
        return foreign_json.decode(text.encode(), shape)
    except ForeignJsonError:
        raise malformed(name) from None


def read_client_data(text: str, ceremony: Ceremony, party: RelyingParty) -> ClientData:
    """What the browser says. Raises `ValidationFailed` and `WrongOrigin`."""
    name = CLIENT_DATA[ceremony]
    raw = decode(text, name)
    try:
        data = foreign_json.decode(raw, _CollectedClientData)
    except ForeignJsonError:
        raise malformed(name) from None
    if data.type != ceremony:
        raise malformed(name)
    if not party.accepts(data.origin) or data.cross_origin or data.top_origin is not None:
        raise WrongOrigin(party.origin)
    return ClientData(decode(data.challenge, name), hashlib.sha256(raw).digest())


def verify_registration(sent: AttestationResponse, party: RelyingParty) -> VerifiedPasskey:
    """The new passkey, except its client data. Raises `ValidationFailed` and `UserVerificationRequired`."""
    name = f"{CREATED}.attestationObject"
    raw = decode(sent.attestation_object, name)
    try:
        data = AttestationObject(raw).auth_data
        credential = data.credential_data
        if credential is None or not _is_usable(credential.public_key):
            raise malformed(name)
        public_key = cbor.encode(credential.public_key)
    except UNREADABLE:
        raise malformed(name) from None
    if not (0 < len(credential.credential_id) <= CREDENTIAL_ID_BYTES_MAX and len(public_key) <= KEY_BYTES_MAX):
        raise malformed(name)
    _require_flags(data, party, name)
    return VerifiedPasskey(
        credential.credential_id,
        public_key,
        data.counter,
        sorted(set(sent.transports) & set(TRANSPORTS)),
        data.is_backup_eligible(),
        data.is_backed_up(),
    )


def verify_assertion(
    sent: AssertionResponse, client: ClientData, party: RelyingParty, public_key: bytes, *, backup_eligible: bool
) -> PasskeyUse:
    """The use of the passkey with this key. Raises `ValidationFailed`, `PasskeyRefused` and `UserVerificationRequired`.

    The caller compares the counter, in the statement that stores it.
    """
    name = f"{USED}.authenticatorData"
    raw, signature = decode(sent.authenticator_data, name), decode(sent.signature, f"{USED}.signature")
    try:
        data = AuthenticatorData(raw)
    except UNREADABLE:
        raise malformed(name) from None
    if not _is_signed(public_key, raw + client.hash, signature) or data.is_backup_eligible() != backup_eligible:
        raise PasskeyRefused
    _require_flags(data, party, name)
    return PasskeyUse(data.counter, data.is_backed_up())


def _require_flags(data: AuthenticatorData, party: RelyingParty, name: str) -> None:
    """The server, the user's presence and verification, and a state of backup that exists."""
    if not hmac.compare_digest(data.rp_id_hash, hashlib.sha256(party.id.encode()).digest()):
        raise WrongOrigin(party.origin)
    if data.is_backed_up() and not data.is_backup_eligible():
        raise malformed(name)
    if not (data.is_user_present() and data.is_user_verified()):
        raise UserVerificationRequired


def _is_usable(key: CoseKey) -> bool:
    """Whether the key is of an algorithm of the list, and one that signatures can be verified with."""
    if cast("dict[int, Any]", key).get(ALGORITHM) not in ALGORITHMS:
        return False
    try:
        key.verify(b"", b"")
    except InvalidSignature:
        return True
    return False


def _is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        _key_of(public_key).verify(message, signature)
    except (InvalidSignature, *UNREADABLE):
        return False
    return True


def _key_of(public_key: bytes) -> CoseKey:
    decoded: Any = cbor.decode(public_key)  # pyright: ignore[reportUnknownMemberType] - its parameter has no type
    return CoseKey.parse(decoded)
