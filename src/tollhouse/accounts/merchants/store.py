"""SQL of merchants, their business settings, and their API keys as views."""

from datetime import datetime
from ipaddress import ip_network
from uuid import UUID

from msgspec.structs import astuple

from tollhouse.accounts.environments.legal_details import LEGAL_FIELDS, LegalDetails
from tollhouse.accounts.identity import store as api_keys_store
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.merchants.model import ApiKeyView, Business, Stopped
from tollhouse.accounts.spending.model import Limits, read_limits
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.tokens import DOCUMENT_ID_PREFIX
from tollhouse.platform.database.pool import Pool, Row, Tx

INSERT_MERCHANT = "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, $2, $3)"
SUSPEND = "UPDATE merchants SET suspended_at = $2 WHERE id = $1 AND suspended_at IS NULL"
REACTIVATE = """
    UPDATE merchants SET suspended_at = NULL WHERE id = $1 AND suspended_at IS NOT NULL AND closed_at IS NULL
"""

IS_CLOSED = "SELECT closed_at IS NOT NULL FROM merchants WHERE id = $1"

GET_BUSINESS = """
    SELECT business_name, time_zone, legal_name, address_line1, address_line2, postal_code, city, country, tax_id,
           register_entry
    FROM merchants WHERE id = $1
"""
UPDATE_IF_UNCHANGED = """
    UPDATE merchants SET business_name = $2, time_zone = $3, legal_name = $4, address_line1 = $5, address_line2 = $6,
        postal_code = $7, city = $8, country = $9, tax_id = $10, register_entry = $11
    WHERE id = $1 AND suspended_at IS NULL AND (business_name, time_zone, legal_name, address_line1, address_line2,
        postal_code, city, country, tax_id, register_entry) = ($12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
"""

FIND_DOCUMENT_URL = "SELECT document_url FROM oauth_clients WHERE id = $1"

COUNT_CREDENTIALS = """
    SELECT (SELECT count(*) FROM api_keys WHERE merchant_id = $1 AND mode = $2 AND revoked_at IS NULL) AS api_keys,
           (SELECT count(*) FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
            WHERE g.merchant_id = $1 AND g.mode = $2 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL
              AND g.expires_at > $3) AS connections,
           (SELECT count(*) FROM proposals p WHERE p.merchant_id = $1 AND p.mode = $2 AND p.status = 'waiting'
            AND proposals_status_at(p, $3) = 'waiting') AS proposals
"""

CLOSE = """
    UPDATE merchants SET closed_at = $2, business_name = 'Erased merchant', legal_name = '', address_line1 = '',
        address_line2 = '', postal_code = '', city = '', country = '', tax_id = '', register_entry = ''
    WHERE id = $1
"""


async def insert_merchant(tx: Tx, merchant_id: MerchantId, business_name: str, now: datetime) -> None:
    """Insert a merchant."""
    await tx.execute(INSERT_MERCHANT, merchant_id, business_name, now)


async def suspend(tx: Tx, merchant_id: UUID, now: datetime) -> bool:
    """Suspend a merchant; False if it is not active."""
    return await tx.execute(SUSPEND, merchant_id, now) == 1


async def reactivate(tx: Tx, merchant_id: UUID) -> bool:
    """Reactivate a merchant; False if it is not suspended, or closed."""
    return await tx.execute(REACTIVATE, merchant_id) == 1


async def is_closed(tx: Tx, merchant_id: UUID) -> bool:
    """Whether the merchant was erased."""
    return bool(await tx.fetchval(IS_CLOSED, merchant_id))


async def count_credentials(db: Pool | Tx, env: MerchantEnv, now: datetime) -> Stopped:
    """How many keys and connections of a mode are active, and how many proposals of theirs wait."""
    [row] = await db.fetch(COUNT_CREDENTIALS, env.merchant_id, env.mode, now)
    return Stopped(env.mode, env.livemode, **row)


async def insert_api_key(
    tx: Tx, person: Person, key: ApiKeyView, mask: int, key_hash: bytes, limits: Limits, now: datetime
) -> None:
    """Insert an API key of the person's merchant."""
    values = (key.mode, key.name, key_hash, mask, key.hint, now, limits.stored)
    networks = [ip_network(text) for text in key.allowed_networks] or None
    about = (networks, key.proposals_only, person.user_id)
    await tx.execute(api_keys_store.INSERT_API_KEY, key.api_key_id, person.merchant_id, *values, *about)


async def list_api_keys(db: Pool | Tx, merchant_id: MerchantId, catalogue: Catalogue) -> list[ApiKeyView]:
    """All keys of a merchant, newest first."""
    return [_api_key(row, catalogue) for row in await db.fetch(api_keys_store.LIST_API_KEYS, merchant_id)]


async def get_api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID, catalogue: Catalogue) -> ApiKeyView | None:
    """One key; None if the merchant has no such key."""
    row = await tx.fetchrow(api_keys_store.GET_API_KEY, merchant_id, api_key_id)
    return None if row is None else _api_key(row, catalogue)


async def revoke_api_key(
    tx: Tx, merchant_id: MerchantId, api_key_id: UUID, catalogue: Catalogue, now: datetime
) -> ApiKeyView | None:
    """Revoke a key; None if the merchant has no such active key."""
    row = await tx.fetchrow(api_keys_store.REVOKE_API_KEY, merchant_id, api_key_id, now)
    return None if row is None else _api_key(row, catalogue)


def _api_key(row: Row, catalogue: Catalogue) -> ApiKeyView:
    return ApiKeyView(
        api_key_id=row["id"],
        name=row["name"],
        mode=row["mode"],
        livemode=row["mode"] == "live",
        scopes=Scopes(row["scope_mask"]).names(),
        hint=row["hint"],
        status="active" if row["revoked_at"] is None else "revoked",
        created_at=stamp(row["created_at"]),
        last_used_at=stamp_or_none(row["last_used_at"]),
        allowed_networks=[str(network) for network in row["allowed_networks"] or ()],
        proposals_only=row["proposals_only"],
        **read_limits(row["limits"]).members(catalogue, "expires_at"),
    )


async def get_business(db: Pool | Tx, merchant_id: MerchantId) -> Business:
    """The current settings."""
    [row] = await db.fetch(GET_BUSINESS, merchant_id)
    legal = LegalDetails(**{name: row[name] for name in LEGAL_FIELDS})
    return Business(row["business_name"], row["time_zone"], legal)


async def update_business(tx: Tx, merchant_id: MerchantId, new: Business, seen: Business) -> bool:
    """Save the settings; False if they are no longer as `seen`."""
    return await tx.execute(UPDATE_IF_UNCHANGED, merchant_id, *_values(new), *_values(seen)) == 1


async def close_merchant(tx: Tx, merchant_id: MerchantId, now: datetime) -> None:
    """Close a suspended merchant and remove its name and address."""
    await tx.execute(CLOSE, merchant_id, now)


def _values(business: Business) -> tuple[object, ...]:
    return (business.business_name, business.time_zone, *astuple(business.legal))


async def protocol_id(db: Pool, client_id: ClientId | None) -> ClientId | None:
    """What an application has as `client_id`: the URL of its document, if it is known by one."""
    if client_id is None or not client_id.startswith(DOCUMENT_ID_PREFIX):
        return client_id
    row = await db.fetchrow(FIND_DOCUMENT_URL, client_id)
    return client_id if row is None else ClientId(row["document_url"])
