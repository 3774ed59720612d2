"""Secrets we must be able to read again, sealed with AES-256-GCM under a key ring; and MACs under the same ring.

The first key of the ring seals; every key of it opens. What a seal belongs to (merchant, mode, version) is bound in as
associated data, so that a sealed value moved to another row does not open.
"""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

NONCE_BYTES = 12
MAC_BYTES_MIN, MAC_BYTES = 16, 32
CHECK_BYTES = 16


class Encrypted(Struct, frozen=True):
    """A sealed value as its row keeps it."""

    key_id: str
    nonce: bytes
    ciphertext: bytes


class DecryptionError(Exception):
    """The key is not in the ring, or the value was changed or moved."""


class KeyRing:
    """The keys of `TOLLHOUSE_SECRET_KEYS`."""

    def __init__(self, keys: tuple[tuple[str, bytes], ...]) -> None:
        if not keys:
            raise ValueError("the key ring is empty")
        self.in_use = keys[0][0]
        """The id of the first key."""
        self._sealing = {name: AESGCM(_derive(key, b"tollhouse sealing")) for name, key in keys}
        self._signing = [_derive(key, b"tollhouse mac") for _, key in keys]
        self.check_values = {name: _derive(key, b"tollhouse key check")[:CHECK_BYTES] for name, key in keys}
        """What shows that a key is the same one, by its id; nothing of the key follows from it."""

    def encrypt(self, plain: bytes, bound_to: str) -> Encrypted:
        """Seal under the first key."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return Encrypted(self.in_use, nonce, self._sealing[self.in_use].encrypt(nonce, plain, bound_to.encode()))

    def open(self, encrypted: Encrypted, bound_to: str) -> bytes:
        """Open what was sealed for `bound_to`. Raises `DecryptionError`."""
        cipher = self._sealing.get(encrypted.key_id)
        if cipher is None:
            raise DecryptionError(f"no key {encrypted.key_id} in the ring")
        try:
            return cipher.decrypt(encrypted.nonce, encrypted.ciphertext, bound_to.encode())
        except InvalidTag:
            raise DecryptionError("the sealed value does not belong here") from None

    def mac(self, message: bytes) -> bytes:
        """Keyed BLAKE2b (RFC 7693) under the first key, 32 bytes."""
        return _mac(self._signing[0], message)

    def vouches(self, message: bytes, mac: bytes) -> bool:
        """Whether `mac`, whole or cut to its first bytes (16 or more), was made by any key of the ring."""
        if len(mac) < MAC_BYTES_MIN:
            return False
        return any(hmac.compare_digest(_mac(key, message)[: len(mac)], mac) for key in self._signing)


def _mac(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, digest_size=MAC_BYTES, key=key).digest()


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(key)
