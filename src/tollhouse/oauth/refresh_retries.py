"""Retry-safe refresh: with an Idempotency-Key the same request gets the same tokens again, until one of them was used.

What it gets is stored encrypted under a key derived from the refresh token that was sent. The database has only its digest.
"""

from typing import NamedTuple

from tollhouse.http.request import Request
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX, REFRESH_KEY_CHARS_MIN
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.text import Text
from tollhouse.oauth.client_auth import SentCredentials
from tollhouse.platform.encryption import SecretCipher

PURPOSE = b"tollhouse refresh retry"


class TokenPair(NamedTuple):
    """What a refresh returns. Without offline_access there is no refresh token."""

    access_token: str
    refresh_token: str | None


def sent_key(request: Request) -> str | None:
    """The Idempotency-Key; None without one. Raises `InvalidRequest` if it is malformed."""
    sent = request.headers.getlist("idempotency-key")
    if not sent:
        return None
    key = sent[0]
    has_length = REFRESH_KEY_CHARS_MIN <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX
    if len(sent) > 1 or not has_length or not all("!" <= char <= "~" for char in key):
        raise InvalidRequest(
            Text(
                "With a refresh, Idempotency-Key must be %(least)s to %(most)s visible ASCII characters, sent once.",
                least=REFRESH_KEY_CHARS_MIN,
                most=IDEMPOTENCY_KEY_CHARS_MAX,
            )
        )
    return key


class Retries:
    """Recognizes the same request: the same application, refresh token, scopes and keys. Encrypts what it gets."""

    def __init__(self, sent: SentCredentials, refresh_token: str, requested: Scopes | None, key: str) -> None:
        scope_mask = "" if requested is None else str(requested.mask)
        proven = "" if sent.proof.key is None else f"\n{sent.proof.key.hex()}"
        self.request_hash = tokens.digest(f"{sent.client_id}\n{refresh_token}\n{scope_mask}\n{key}{proven}")
        self._cipher = SecretCipher(refresh_token.encode(), PURPOSE)

    def encrypt(self, pair: TokenPair) -> bytes:
        """The tokens as they are stored."""
        return self._cipher.encrypt(f"{pair.access_token} {pair.refresh_token or ''}".encode(), self.request_hash)

    def open(self, encrypted: bytes) -> TokenPair:
        """The tokens that were stored for this request."""
        access_token, _, refresh_token = self._cipher.open(encrypted, self.request_hash).decode().partition(" ")
        return TokenPair(access_token, refresh_token or None)
