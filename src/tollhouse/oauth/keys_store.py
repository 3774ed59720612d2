"""SQL of the keys by which applications authenticate."""

from typing import Any

import msgspec
from msgspec import Struct

from tollhouse.kernel.ids import ClientId
from tollhouse.oauth.settings import ClientSettings
from tollhouse.platform.database.pool import Pool, Row

FIND_KEYS = """
    SELECT secret_hash, jwks, jwks_uri FROM oauth_clients
    WHERE id = $1 AND status <> 'revoked' AND token_endpoint_auth_method = 'private_key_jwt'
"""


class ClientKeys(Struct, frozen=True):
    """The keys of an application that authenticates by signatures. `secret_hash` stands for it in other statements."""

    secret_hash: bytes
    jwks: dict[str, Any] | None
    jwks_uri: str | None


async def find_keys(db: Pool, client_id: ClientId) -> ClientKeys | None:
    """The keys of an application that authenticates by signatures; None for any other."""
    row = await db.fetchrow(FIND_KEYS, client_id)
    return ClientKeys(row["secret_hash"], key_set(row), row["jwks_uri"]) if row else None


def values(settings: ClientSettings) -> tuple[object, ...]:
    """How an application authenticates, its keys, and their URL, as they are stored."""
    jwks = msgspec.json.encode(settings.jwks).decode() if settings.jwks else None
    return settings.token_endpoint_auth_method or None, jwks, settings.jwks_uri or None


def key_set(row: Row) -> dict[str, Any] | None:
    """The keys of an application."""
    return None if row["jwks"] is None else msgspec.json.decode(row["jwks"], type=dict[str, Any])
