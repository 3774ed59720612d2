"""The tokens of the bare application: random, and for a refresh token the grant and its generation in plain hex."""

import secrets
from uuid import UUID

ID_CHARS, GENERATION_CHARS = 32, 8


def random_token() -> str:
    """An access token or a code."""
    return secrets.token_urlsafe(32)


def refresh_token(grant_id: UUID, generation: int) -> str:
    """The refresh token of this generation of the grant."""
    return f"{grant_id.hex}{generation:0{GENERATION_CHARS}x}{secrets.token_urlsafe(16)}"


def read(token: str) -> tuple[UUID, int]:
    """Grant and generation of a refresh token."""
    return UUID(hex=token[:ID_CHARS]), int(token[ID_CHARS : ID_CHARS + GENERATION_CHARS], 16)
