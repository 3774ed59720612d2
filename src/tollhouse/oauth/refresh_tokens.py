"""Refresh tokens: hex of the grant id, generation, random bytes and a MAC.

A replaced token is recognized without a row for every token of the family, and grants cannot be revoked by guessing ids.
The grant stores the digest of its current token, the only one that can be used.
"""

import secrets
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel import tokens
from tollhouse.kernel.ids import GrantId
from tollhouse.platform.encryption import KeyRing

ID_BYTES = 16
GENERATION_BYTES = 4
RANDOM_BYTES = 16
MAC_BYTES = 16
SIGNED_BYTES = ID_BYTES + GENERATION_BYTES + RANDOM_BYTES
BODY_CHARS = 2 * (SIGNED_BYTES + MAC_BYTES)
PURPOSE = b"refresh token:"


class RefreshToken(Struct, frozen=True):
    """A refresh token with a valid MAC, current or replaced."""

    grant_id: GrantId
    generation: int
    hash: bytes


def mint(keys: KeyRing, grant_id: UUID, generation: int) -> str:
    """Create the refresh token of a generation of a grant."""
    signed = grant_id.bytes + generation.to_bytes(GENERATION_BYTES) + secrets.token_bytes(RANDOM_BYTES)
    return tokens.with_checksum(tokens.REFRESH_TOKEN_PREFIX, (signed + keys.mac(PURPOSE + signed)[:MAC_BYTES]).hex())


def parse(keys: KeyRing, text: str) -> RefreshToken | None:
    """The parts of a refresh token; None if the format or the MAC is wrong."""
    encoded = tokens.body_of(tokens.REFRESH_TOKEN_PREFIX, text)
    if encoded is None or len(encoded) != BODY_CHARS:
        return None
    try:
        body = bytes.fromhex(encoded)
    except ValueError:
        return None
    signed, mac = body[:SIGNED_BYTES], body[SIGNED_BYTES:]
    if not keys.verify_mac(PURPOSE + signed, mac):
        return None
    generation = int.from_bytes(signed[ID_BYTES : ID_BYTES + GENERATION_BYTES])
    return RefreshToken(GrantId(UUID(bytes=signed[:ID_BYTES])), generation, tokens.digest(text))
