"""The refresh token, which says itself whose it is and how old: in hex its grant, generation, random bytes, and our MAC.

So a token that was replaced is known again without a row for each one there ever was, and nobody can end a grant by
guessing ids. The grant keeps the digest of its current token; nothing but that token refreshes.
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
    """A refresh token that we minted, whether or not it is still the current one."""

    grant_id: GrantId
    generation: int
    hash: bytes


def mint(keys: KeyRing, grant_id: UUID, generation: int) -> str:
    """The refresh token of this generation of the grant."""
    signed = grant_id.bytes + generation.to_bytes(GENERATION_BYTES) + secrets.token_bytes(RANDOM_BYTES)
    return tokens.with_checksum(tokens.REFRESH_TOKEN_PREFIX, (signed + keys.mac(PURPOSE + signed)[:MAC_BYTES]).hex())


def read(keys: KeyRing, text: str) -> RefreshToken | None:
    """What a refresh token says of itself; None when we did not mint it."""
    spelt = tokens.body_of(tokens.REFRESH_TOKEN_PREFIX, text)
    if spelt is None or len(spelt) != BODY_CHARS:
        return None
    try:
        body = bytes.fromhex(spelt)
    except ValueError:
        return None
    signed, mac = body[:SIGNED_BYTES], body[SIGNED_BYTES:]
    if not keys.vouches(PURPOSE + signed, mac):
        return None
    generation = int.from_bytes(signed[ID_BYTES : ID_BYTES + GENERATION_BYTES])
    return RefreshToken(GrantId(UUID(bytes=signed[:ID_BYTES])), generation, tokens.digest(text))
