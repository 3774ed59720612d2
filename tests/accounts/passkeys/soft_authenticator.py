"""An authenticator made of software: passkeys with their private keys, and what it answers, right or wrong."""

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_bytes
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor
from fido2.cose import ES256, RS256, CoseKey, EdDSA

from tests.cast import Actor, Answer
from tollhouse.kernel import base64url

MERCHANT = "/api/v2/merchant"
PRESENT, VERIFIED, BACKUP_ELIGIBLE, BACKED_UP, ATTESTED = 0x01, 0x04, 0x08, 0x10, 0x40


@dataclass
class SoftPasskey:
    """A passkey. `changes` are made to what it answers, before it signs."""

    origin: str
    rp_id: str = "localhost"
    algorithm: int = -7
    credential_id: bytes = field(default_factory=lambda: token_bytes(32))
    flags: int = PRESENT | VERIFIED
    sign_count: int = 0
    user_handle: str | None = None
    key: Any = None

    def __post_init__(self) -> None:
        """Make the key."""
        makes: dict[int, Callable[[], Any]] = {
            -7: lambda: ec.generate_private_key(ec.SECP256R1()),
            -8: ed25519.Ed25519PrivateKey.generate,
            -257: lambda: rsa.generate_private_key(65537, 2048),
        }
        self.key = self.key or makes[self.algorithm]()

    @property
    def cose(self) -> CoseKey:
        """The public key."""
        kind: type[CoseKey] = {-7: ES256, -8: EdDSA, -257: RS256}[self.algorithm]
        return kind.from_cryptography_key(self.key.public_key())

    def data(self, flags: int) -> bytes:
        """The authenticator data without a credential."""
        return hashlib.sha256(self.rp_id.encode()).digest() + struct.pack(">BI", flags, self.sign_count)

    def client_data(self, ceremony: str, challenge: str, changes: dict[str, Any]) -> bytes:
        """What its browser says."""
        said: dict[str, Any] = {
            "type": f"webauthn.{ceremony}",
            "challenge": challenge,
            "origin": self.origin,
            "crossOrigin": False,
        }
        return json.dumps(said | changes).encode()

    def create(self, options: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """A new credential, as `toJSON()` returns it."""
        self.user_handle = options["user"]["id"]
        credential = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + cbor.encode(self.cose)
        attestation: dict[str, Any] = {
            "fmt": "none",
            "attStmt": {},
            "authData": self.data(self.flags | ATTESTED) + credential,
        }
        response = {
            "clientDataJSON": base64url.encode(self.client_data("create", options["challenge"], changes)),
            "attestationObject": base64url.encode(cbor.encode(attestation)),
            "transports": ["internal", "hybrid", "telepathy"],
            "publicKeyAlgorithm": self.algorithm,
        }
        return self._credential(response)

    def get(self, options: dict[str, Any], *, counts: int = 0, **changes: Any) -> dict[str, Any]:
        """An assertion, as `toJSON()` returns it. The counter grows by `counts`."""
        self.sign_count += counts
        client = self.client_data("get", options["challenge"], changes)
        data = self.data(self.flags)
        response = {
            "clientDataJSON": base64url.encode(client),
            "authenticatorData": base64url.encode(data),
            "signature": base64url.encode(self._sign(data + hashlib.sha256(client).digest())),
        }
        handle = {} if self.user_handle is None else {"userHandle": self.user_handle}
        return self._credential(response | handle)

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        own = base64url.encode(self.credential_id)
        more: dict[str, Any] = {"authenticatorAttachment": "platform", "clientExtensionResults": {}}
        return {"id": own, "rawId": own, "type": "public-key", "response": response} | more

    def _sign(self, message: bytes) -> bytes:
        if self.algorithm == -7:
            return self.key.sign(message, ec.ECDSA(SHA256()))
        return self.key.sign(message) if self.algorithm == -8 else self.key.sign(message, PKCS1v15(), SHA256())


def new_passkey(actor: Actor, **facts: Any) -> SoftPasskey:
    """A passkey of this person's service, not added yet."""
    return SoftPasskey(actor.service.url, **facts)


async def creation_options(actor: Actor) -> dict[str, Any]:
    """What a new passkey is made from."""
    return (await actor.dashboard("POST", "/passkeys/options")).ok().body


async def add(actor: Actor, passkey: SoftPasskey | None = None, name: str = "Laptop", **changes: Any) -> Answer:
    """Add a passkey by JSON."""
    passkey = passkey or new_passkey(actor)
    credential = passkey.create(await creation_options(actor), **changes)
    return await actor.dashboard("POST", "/passkeys", {"name": name, "credential": credential})


async def added(actor: Actor, name: str = "Laptop", **facts: Any) -> SoftPasskey:
    """A passkey that was added."""
    passkey = new_passkey(actor, **facts)
    (await add(actor, passkey, name)).ok(201)
    return passkey


async def sign_in(browser: Actor, passkey: SoftPasskey, **changes: Any) -> Answer:
    """Sign in with a passkey by JSON, in this browser."""
    options = (await browser.dashboard("POST", "/login/passkey/options")).ok().body
    return await browser.dashboard("POST", "/login/passkey", {"assertion": passkey.get(options, **changes)})


async def confirm(actor: Actor, passkey: SoftPasskey, **changes: Any) -> Answer:
    """Confirm the session with a passkey."""
    options = (await actor.dashboard("POST", "/session/confirm/options")).ok().body
    return await actor.dashboard("POST", "/session/confirm", {"assertion": passkey.get(options, **changes)})
