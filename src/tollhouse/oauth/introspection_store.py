"""SQL of token introspection: an application's own tokens, under the conditions of their use."""

from datetime import datetime

from msgspec import Struct

from tollhouse.accounts.identity.store import HORIZON
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.refresh_tokens import RefreshToken
from tollhouse.platform.database.pool import Pool, Row

FIND_ACCESS = """
    SELECT t.scope_mask & g.scope_mask & c.scope_mask AS scope_mask, g.merchant_id, g.resource, t.expires_at, t.created_at,
           t.dpop_jkt, true AS is_access
    FROM oauth_access_tokens t JOIN oauth_grants g ON g.id = t.grant_id JOIN oauth_clients c ON c.id = g.client_id
    WHERE t.token_hash = $1 AND g.client_id = $2
      AND t.expires_at > $3::timestamptz + interval '0 s' AND t.expires_at <= $3::timestamptz + $4::interval
      AND g.revoked_at IS NULL AND g.expires_at > $3 AND g.grant_epoch = c.grant_epoch AND c.status = 'enabled'
"""
# 262144 is offline_access.
FIND_REFRESH = """
    SELECT g.scope_mask & c.scope_mask AS scope_mask, g.merchant_id, g.resource, g.expires_at,
           NULL AS created_at, NULL AS dpop_jkt, false AS is_access
    FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.id = $1 AND g.client_id = $2 AND g.refresh_generation = $3 AND g.refresh_hash = $4
      AND g.revoked_at IS NULL AND g.expires_at > $5 AND g.grant_epoch = c.grant_epoch AND c.status = 'enabled'
      AND g.scope_mask & c.scope_mask & 262144 <> 0
"""


class ActiveToken(Struct, frozen=True):
    """What a token that is valid now stands for. `created_at` is None where it is not known."""

    scopes: Scopes
    merchant_id: MerchantId
    resource: Resource
    expires_at: datetime
    created_at: datetime | None
    dpop_jkt: bytes | None
    is_access: bool


async def find_access_token(db: Pool, client_id: ClientId, token_hash: bytes, now: datetime) -> ActiveToken | None:
    """A valid access token of this application. It is not used by that."""
    return _active(await db.fetchrow(FIND_ACCESS, token_hash, client_id, now, HORIZON))


async def find_refresh_token(db: Pool, client_id: ClientId, token: RefreshToken, now: datetime) -> ActiveToken | None:
    """The refresh token of this application, if it is the current one of its grant."""
    return _active(await db.fetchrow(FIND_REFRESH, token.grant_id, client_id, token.generation, token.hash, now))


def _active(row: Row | None) -> ActiveToken | None:
    if row is None:
        return None
    values = dict(row)
    return ActiveToken(scopes=Scopes(values.pop("scope_mask")), **values)
