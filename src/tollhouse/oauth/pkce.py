"""Proof key for code exchange, method S256 only (RFC 7636)."""

import base64
import binascii
import hashlib
import re

from tollhouse.kernel.limits import CHALLENGE_CHARS, VERIFIER_CHARS_MAX, VERIFIER_CHARS_MIN

VERIFIER = re.compile(rf"[A-Za-z0-9._~-]{{{VERIFIER_CHARS_MIN},{VERIFIER_CHARS_MAX}}}")
CHALLENGE = re.compile(rf"[A-Za-z0-9_-]{{{CHALLENGE_CHARS}}}")


def is_valid_verifier(verifier: str) -> bool:
    """Whether this is a code verifier: 43 to 128 unreserved characters."""
    return VERIFIER.fullmatch(verifier) is not None


def challenge_of(verifier: str) -> bytes:
    """The SHA-256 of a verifier, 32 bytes."""
    return hashlib.sha256(verifier.encode()).digest()


def parse_challenge(text: str) -> bytes | None:
    """The 32 bytes of an unpadded base64url challenge; None if it is not one.

    The last character has four unused bits, which must be zero: a challenge has one encoding.
    """
    if CHALLENGE.fullmatch(text) is None:
        return None
    try:
        challenge = base64.urlsafe_b64decode(text + "=")
    except binascii.Error:
        return None
    return challenge if base64.urlsafe_b64encode(challenge).decode() == text + "=" else None
