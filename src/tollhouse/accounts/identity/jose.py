"""Signed tokens that others made (RFC 7515): parsed strictly, and verified by asymmetric algorithms only.

The algorithm is one of a list and fits the key, which comes from the caller: no URL in a header is ever followed.
"""

import json
import re
from numbers import Real
from typing import Any, NoReturn, cast

from msgspec import Struct

from tollhouse.accounts.identity.model import ALGORITHMS
from tollhouse.kernel import base64url

TOKEN_CHARS_MAX = 8_192
TIME_MAX = 1 << 34
COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
KEY_TYPES = {"ES256": "EC", "PS256": "RSA", "Ed25519": "OKP", "EdDSA": "OKP"}
KEY_MEMBERS = {"EC": ("crv", "x", "y"), "RSA": ("n", "e"), "OKP": ("crv", "x")}
CURVES = {"EC": "P-256", "OKP": "Ed25519"}
PRIVATE_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
RSA_BITS_MIN, RSA_BITS_MAX = 2_048, 4_096
EXPONENT_CHARS_MAX = 6  # of base64url: 32 bits


class JoseError(ValueError):
    """The token or key is not valid. The message is for the log and for the owner of the key, without its content."""


class SignedToken(Struct, frozen=True):
    """A token whose signature is not verified yet."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes

    @property
    def algorithm(self) -> str:
        """Its algorithm, which is one of `ALGORITHMS`."""
        return cast("str", self.header["alg"])

    def text(self, name: str) -> str | None:
        """A claim that is a text of printable characters; None if it is not."""
        value = self.claims.get(name)
        return value if isinstance(value, str) and value.isprintable() else None

    def time(self, name: str) -> int | None:
        """A claim that is a time, in whole seconds since 1970; None if it is not."""
        value: Any = self.claims.get(name)
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        seconds = cast("int", value)
        return int(seconds) if 0 <= seconds < TIME_MAX else None


def parse(text: str) -> SignedToken:
    """Parse a token in compact form. Raises `JoseError`."""
    parts = COMPACT.fullmatch(text) if len(text) <= TOKEN_CHARS_MAX else None
    if parts is None:
        raise JoseError("not a signed token in compact form, or too long")
    header, claims = _object(parts[1]), _object(parts[2])
    if header.get("alg") not in ALGORITHMS:
        raise JoseError("algorithm not supported")
    if "crit" in header or "b64" in header:
        raise JoseError("critical header not supported")
    return SignedToken(header, claims, f"{parts[1]}.{parts[2]}".encode(), decode(parts[3]))


def verify(token: SignedToken, key: dict[str, Any]) -> bool:
    """Whether this public key made the signature. False also for a key of another kind, or no valid one."""
    from joserfc.errors import JoseError as LibraryError  # noqa: PLC0415 - most processes never need it
    from joserfc.jws import JWSRegistry  # noqa: PLC0415

    if KEY_TYPES[token.algorithm] != key.get("kty") or key.get("alg") not in {None, token.algorithm}:
        return False
    algorithm = JWSRegistry.algorithms[token.algorithm]
    try:
        imported = _imported(key)
        algorithm.check_key(imported)
        return algorithm.verify(token.signed, token.signature, imported)
    except (LibraryError, ValueError, TypeError):
        return False


def thumbprint(key: dict[str, Any]) -> bytes:
    """The SHA-256 thumbprint of a public key (RFC 7638). Raises `JoseError` if it is not a valid one."""
    return decode(_imported(key).thumbprint())


def check_public_key(key: object) -> None:
    """Raises `JoseError` unless this is a public key of an algorithm that is supported."""
    if not isinstance(key, dict):
        raise JoseError("a key must be an object")
    _imported(cast("dict[str, Any]", key))


def decode(text: str) -> bytes:
    """The bytes of base64url. Raises `JoseError`."""
    raw = base64url.decode(text)
    if raw is None:
        raise JoseError("not base64url")
    return raw


def _imported(key: dict[str, Any]) -> Any:
    """The key for the library, made of its public members alone."""
    from joserfc.errors import JoseError as LibraryError  # noqa: PLC0415
    from joserfc.jwk import JWKRegistry  # noqa: PLC0415

    kind = key.get("kty")
    if not isinstance(kind, str) or kind not in KEY_MEMBERS:
        raise JoseError("kty must be EC, RSA or OKP")
    if PRIVATE_MEMBERS & {*key}:
        raise JoseError("the key must be public, without private members")
    if key.get("use") not in {None, "sig"}:
        raise JoseError("use must be sig")
    members = {name: key.get(name) for name in KEY_MEMBERS[kind]}
    if not all(isinstance(value, str) for value in members.values()):
        raise JoseError("a member of the key is missing")
    if kind in CURVES and members["crv"] != CURVES[kind]:
        raise JoseError("crv must be P-256 or Ed25519")
    if kind == "RSA":
        _check_rsa(members["n"] or "", members["e"] or "")
    try:
        return JWKRegistry.import_key({"kty": kind, **cast("dict[str, str]", members)})
    except (LibraryError, ValueError, TypeError, OverflowError):
        raise JoseError("not a valid key") from None


def _check_rsa(modulus: str, exponent: str) -> None:
    """An absurd key costs time, a short one is no protection."""
    if not RSA_BITS_MIN <= int.from_bytes(decode(modulus)).bit_length() <= RSA_BITS_MAX:
        raise JoseError("n must have 2,048 to 4,096 bits")
    if len(exponent) > EXPONENT_CHARS_MAX or int.from_bytes(decode(exponent)) < 3:  # noqa: PLR2004 - the least odd one
        raise JoseError("e must be an odd number of at most 32 bits")


def _object(encoded: str) -> dict[str, Any]:
    """A JSON object, each of whose members is named once."""
    try:
        found = json.loads(decode(encoded).decode(), object_pairs_hook=_members, parse_constant=_refuse)
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise JoseError("not JSON") from None
    if not isinstance(found, dict):
        raise JoseError("not a JSON object")
    return cast("dict[str, Any]", found)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JoseError("a member is repeated")
    return found


def _refuse(text: str) -> NoReturn:
    raise JoseError(f"{text} is not JSON")
