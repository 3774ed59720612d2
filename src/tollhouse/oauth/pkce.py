"""Proof key for code exchange, method S256 only (RFC 7636)."""

import base64
import binascii
import hashlib
import re

from tollhouse.kernel.limits import CHALLENGE_CHARS, VERIFIER_CHARS_MAX, VERIFIER_CHARS_MIN

VERIFIER = re.compile(rf"[A-Za-z0-9._~-]{{{VERIFIER_CHARS_MIN},{VERIFIER_CHARS_MAX}}}")
CHALLENGE = re.compile(rf"[A-Za-z0-9_-]{{{CHALLENGE_CHARS}}}")


def well_formed(verifier: str) -> bool:
    """Whether this can be a verifier: 43 to 128 unreserved characters."""
    return VERIFIER.fullmatch(verifier) is not None


def challenge_of(verifier: str) -> bytes:
    """The 32 bytes that a verifier proves."""
    return hashlib.sha256(verifier.encode()).digest()


def read_challenge(text: str) -> bytes | None:
    """The 32 bytes of an unpadded base64url challenge; None when it is none.

    The last character carries four bits that must be zero: else no verifier's challenge is ever spelt so.
    """
    if CHALLENGE.fullmatch(text) is None:
        return None
    try:
        challenge = base64.urlsafe_b64decode(text + "=")
    except binascii.Error:
        return None
    return challenge if base64.urlsafe_b64encode(challenge).decode() == text + "=" else None
