"""A block of the hash chain, and its signed head."""

import base64
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.platform.encryption import KeyRing, is_signature

ROWS_MAX = 10_000
"""The most rows of one block."""


class CoveredRow(Struct, frozen=True):
    """A row that a block covers: `kind` is `ledger` or `operator_action`."""

    kind: str
    id: UUID


class Block(Struct, frozen=True):
    """The number, SHA-256 hash and time of a block, without its rows."""

    number: int
    hash: bytes
    created_at: datetime


class Head(Struct, frozen=True):
    """What is kept of a block elsewhere: `hash` is hexadecimal, `public_key` (Ed25519) and `signature` are Base64."""

    number: int
    created_at: Timestamp
    hash: str
    public_key: str
    signature: str

    @property
    def is_signed(self) -> bool:
        """Whether the signature is one of its public key."""
        try:
            public_key, signature = base64.b64decode(self.public_key), base64.b64decode(self.signature)
        except ValueError:
            return False
        return is_signature(public_key, signature, _signed_text(self.number, self.created_at, self.hash))


def sign(block: Block, keys: KeyRing) -> tuple[bytes, bytes]:
    """The public key in use, and its signature of the block."""
    return keys.public_key, keys.sign(_signed_text(block.number, stamp(block.created_at), block.hash.hex()))


def head(block: Block, public_key: bytes, signature: bytes) -> Head:
    """The head that a block is."""
    return Head(
        block.number,
        stamp(block.created_at),
        block.hash.hex(),
        base64.b64encode(public_key).decode(),
        base64.b64encode(signature).decode(),
    )


def _signed_text(number: int, created_at: str, hash_hex: str) -> bytes:
    return f"tollhouse hash chain head\n{number}\n{created_at}\n{hash_hex}\n".encode()
