"""Encryption of secrets with AES-256-GCM under a key ring, and MACs and Ed25519 signatures under the same ring.

The first key encrypts; every key decrypts. The context of a secret (merchant, mode, version) is authenticated as
associated data, so that a ciphertext moved to another row cannot be decrypted.
"""

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

if TYPE_CHECKING:
    import asyncpg

NONCE_BYTES = 12
MAC_BYTES_MIN, MAC_BYTES = 16, 32
CHECK_BYTES = 16


class Encrypted(Struct, frozen=True):
    """A ciphertext as stored."""

    key_id: str
    nonce: bytes
    ciphertext: bytes

    @classmethod
    def in_row(cls, row: "asyncpg.Record") -> "Encrypted":
        """The one in the columns of a row."""
        return cls(row["key_id"], row["nonce"], row["ciphertext"])


class DecryptionError(Exception):
    """The key is not in the ring, or the ciphertext was changed or moved."""


class KeyRing:
    """The keys of `TOLLHOUSE_SECRET_KEYS`."""

    def __init__(self, keys: tuple[tuple[str, bytes], ...]) -> None:
        if not keys:
            raise ValueError("the key ring is empty")
        self.in_use = keys[0][0]
        """The id of the first key."""
        self._ciphers = {name: AESGCM(_derive(key, b"tollhouse sealing")) for name, key in keys}
        self._mac_keys = [_derive(key, b"tollhouse mac") for _, key in keys]
        self._signing_key = Ed25519PrivateKey.from_private_bytes(_derive(keys[0][1], b"tollhouse signature"))
        self.public_key = self._signing_key.public_key().public_bytes_raw()
        """The Ed25519 public key of the first key, 32 bytes."""
        self.check_values = {name: _derive(key, b"tollhouse key check")[:CHECK_BYTES] for name, key in keys}
        """Check values that identify each key without revealing it, by key id."""

    def encrypt(self, plain: bytes, bound_to: str) -> Encrypted:
        """Encrypt with the first key."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return Encrypted(self.in_use, nonce, self._ciphers[self.in_use].encrypt(nonce, plain, bound_to.encode()))

    def open(self, encrypted: Encrypted, bound_to: str) -> bytes:
        """Decrypt what was encrypted for `bound_to`. Raises `DecryptionError`."""
        cipher = self._ciphers.get(encrypted.key_id)
        if cipher is None:
            raise DecryptionError(f"no key {encrypted.key_id} in the ring")
        try:
            return cipher.decrypt(encrypted.nonce, encrypted.ciphertext, bound_to.encode())
        except InvalidTag:
            raise DecryptionError("the encrypted value was changed or belongs elsewhere") from None

    def mac(self, message: bytes) -> bytes:
        """Keyed BLAKE2b (RFC 7693) under the first key, 32 bytes."""
        return _mac(self._mac_keys[0], message)

    def macs(self, message: bytes) -> list[bytes]:
        """The MAC under each key, the first key's first."""
        return [_mac(key, message) for key in self._mac_keys]

    def sign(self, message: bytes) -> bytes:
        """Ed25519 signature (RFC 8032) under the first key, 64 bytes."""
        return self._signing_key.sign(message)

    def verify_mac(self, message: bytes, mac: bytes) -> bool:
        """Whether any key of the ring made this MAC, complete or cut to its first bytes (16 or more)."""
        if len(mac) < MAC_BYTES_MIN:
            return False
        return any(hmac.compare_digest(_mac(key, message)[: len(mac)], mac) for key in self._mac_keys)


class SecretCipher:
    """Encrypts under a key derived from a secret that must be presented again to decrypt: no key of the ring opens it.

    `purpose` separates the uses of a secret. The secret has at least 128 random bits.
    """

    def __init__(self, secret: bytes, purpose: bytes) -> None:
        self._cipher = AESGCM(_derive(secret, purpose))

    def encrypt(self, plain: bytes, bound_to: bytes) -> bytes:
        """The nonce and the ciphertext."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, bound_to)

    def open(self, encrypted: bytes, bound_to: bytes) -> bytes:
        """Decrypt what was encrypted under this secret for `bound_to`. Raises `DecryptionError`."""
        try:
            return self._cipher.decrypt(encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:], bound_to)
        except (InvalidTag, ValueError):
            raise DecryptionError("the secret does not open this value") from None


def is_signature(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the holder of the private key of `public_key` signed this message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _mac(key: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, digest_size=MAC_BYTES, key=key).digest()


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(key)
