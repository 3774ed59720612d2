"""Keys of applications, and tokens that are signed with them, valid or with one thing wrong."""

import hashlib
import json
import secrets
import warnings
from dataclasses import dataclass, field
from typing import Any

from joserfc import jws
from joserfc.jwk import JWKRegistry, OctKey

from tests.cast import Actor, Answer, Application, application
from tollhouse.kernel import base64url, clock

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
KINDS: dict[str, tuple[str, Any]] = {
    "ES256": ("EC", "P-256"),
    "PS256": ("RSA", 2048),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}


@dataclass
class Signer:
    """A private key that signs with one algorithm."""

    algorithm: str = "ES256"
    kid: str = field(default_factory=lambda: secrets.token_hex(4))
    key: Any = None

    def __post_init__(self) -> None:
        self.key = self.key or JWKRegistry.generate_key(*KINDS[self.algorithm])

    @property
    def public(self) -> dict[str, Any]:
        """The public key, with its `kid`."""
        return self.key.as_dict(private=False) | {"kid": self.kid}

    def sign(self, claims: dict[str, Any] | bytes, **header: Any) -> str:
        """A token with these claims. A header of None is left out."""
        head = {"alg": self.algorithm, "kid": self.kid, **header}
        head = {name: value for name, value in head.items() if value is not None}
        payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        signed = f"{base64url.encode(json.dumps(head).encode())}.{base64url.encode(payload)}"
        with warnings.catch_warnings(action="ignore"):
            signature = jws.JWSRegistry.algorithms[self.algorithm].sign(signed.encode(), self.key)
        return f"{signed}.{base64url.encode(signature)}"

    def proof(self, method: str, url: str, access_token: str | None = None, **changes: Any) -> str:
        """A DPoP proof of this key, with some claims changed; `...` leaves one out."""
        made = {"jti": secrets.token_hex(16), "htm": method, "htu": url, "iat": at(), **changes}
        if access_token is not None:
            made.setdefault("ath", base64url.encode(hashlib.sha256(access_token.encode()).digest()))
        claims = {name: value for name, value in made.items() if value is not ...}
        return self.sign(claims, kid=None, typ="dpop+jwt", jwk=self.key.as_dict(private=False))

    @property
    def jkt(self) -> str:
        """The thumbprint of the key."""
        return self.key.thumbprint()


def at(seconds: int = 0) -> int:
    """A time so many seconds from now."""
    return int(clock.now().timestamp()) + seconds


def hostile(signer: Signer, claims: dict[str, Any]) -> dict[str, str]:
    """Tokens of an attacker who knows the public key, by what is tried."""
    public = json.dumps(signer.key.as_dict(private=False)).encode()
    payload = base64url.encode(json.dumps(claims).encode())
    none = base64url.encode(json.dumps({"alg": "none"}).encode())
    own = Signer()
    shared = Signer("ES256", signer.kid)
    shared.algorithm, shared.key = "HS256", OctKey.import_key(public)
    valid = signer.sign(claims)
    head, _, signature = valid.split(".")
    changed = base64url.encode(json.dumps(claims | {"jti": "other"}).encode())
    repeated = json.dumps(claims)[:-1] + ', "jti": "again"}'
    return {
        "no algorithm": f"{none}.{payload}.",
        "no algorithm, with a signature": f"{none}.{payload}.{signature}",
        "the public key as a shared one": shared.sign(claims),
        "another key under the same name": Signer("ES256", signer.kid).sign(claims),
        "its own key in the header": own.sign(claims, kid=signer.kid, jwk=own.public),
        "keys at a URL": own.sign(claims, jku="http://127.0.0.1:1/keys", x5u="http://127.0.0.1:1/keys"),
        "critical": signer.sign(claims, crit=["exp"], exp=1),
        "unencoded": signer.sign(claims, b64=False, crit=["b64"]),
        "changed claims": f"{head}.{changed}.{signature}",
        "no signature": f"{head}.{payload}.",
        "repeated member": signer.sign(repeated.encode()),
        "too long": signer.sign(claims | {"x": "y" * 9_000}),
        "not JSON": signer.sign(b"not JSON"),
        "not an object": signer.sign(b"[]"),
        "nested": signer.sign(b"[" * 5_000),
        "infinite": signer.sign(json.dumps(claims)[:-1].encode() + b', "x": Infinity}'),
        "padded": valid + "=",
        "trailing bits": valid[:-1] + ("B" if valid[-1] == "A" else "A"),
        "five parts": f"{valid}.a.b",
        "empty": "..",
    }


@dataclass
class SigningApplication:
    """An application that authenticates by signatures."""

    app: Application
    signer: Signer

    def claims(self, **changes: Any) -> dict[str, Any]:
        """The claims of a valid assertion with some changes; `...` leaves one out."""
        service = self.app.owner.service
        made = {
            "iss": self.app.client_id,
            "sub": self.app.client_id,
            "aud": service.url,
            "jti": secrets.token_hex(16),
            "iat": at(),
            "exp": at(60),
            **changes,
        }
        return {name: value for name, value in made.items() if value is not ...}

    def assertion(self, **changes: Any) -> dict[str, str]:
        """The parameters of a request."""
        return sent(self.signer.sign(self.claims(**changes)))

    async def connect(self, merchant: Actor, scope: str = "account:read offline_access") -> Answer:
        """Exchange a code of this merchant."""
        return await self.app.exchange(await self.app.code(merchant, scope), **self.assertion())


def sent(assertion: str) -> dict[str, str]:
    """The parameters of this assertion."""
    return {"client_assertion": assertion, "client_assertion_type": ASSERTION_TYPE}


async def signing_application(owner: Actor, *algorithms: str, **changes: Any) -> SigningApplication:
    """An application of this owner with a key of the first algorithm and, beside it, keys of the others."""
    signers = [Signer(algorithm) for algorithm in algorithms or ("ES256",)]
    settings: dict[str, Any] = {
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": {"keys": [one.public for one in signers]},
    }
    return SigningApplication(await application(owner, **settings | changes), signers[0])
