"""SQL of reports: what merchants tell operators about applications."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import ClientId, MerchantId, new_id
from tollhouse.oauth import clients_store
from tollhouse.platform.database.pool import Pool, Tx

NAME = "SELECT name FROM oauth_clients WHERE id = $1"
# One of a merchant and application a day.
INSERT = """
    INSERT INTO application_reports (id, client_id, merchant_id, day, reason, created_at)
    VALUES ($1, $2, $3, ($5::timestamptz AT TIME ZONE 'UTC')::date, $4, $5)
    ON CONFLICT (client_id, merchant_id, day) DO NOTHING
"""
# Whether nobody else reported it on this day. Reports of an application wait for each other.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('application report ' || $1, 0))"
IS_FIRST = """
    SELECT count(*) = 1 FROM application_reports WHERE client_id = $1 AND day = ($2::timestamptz AT TIME ZONE 'UTC')::date
"""
OPERATORS = "SELECT email FROM operators WHERE closed_at IS NULL AND password_hash IS NOT NULL ORDER BY id"
LIST = """
    SELECT r.id, r.merchant_id, m.business_name, r.reason, r.created_at
    FROM application_reports r JOIN merchants m ON m.id = r.merchant_id
    WHERE r.client_id = $1 ORDER BY r.created_at DESC, r.id DESC LIMIT $2
"""
DELETE_OF_MERCHANT = "DELETE FROM application_reports WHERE merchant_id = $1"


class ApplicationReport(Struct, frozen=True):
    """What a merchant reported about an application."""

    id: UUID
    merchant_id: UUID
    business_name: str
    reason: str
    created_at: Timestamp


async def get_name(db: Pool | Tx, client_id: str) -> str | None:
    """The name of an application; None if there is none."""
    row = await db.fetchrow(NAME, client_id) if clients_store.CLIENT_ID.fullmatch(client_id) else None
    return None if row is None else row["name"]


async def insert(tx: Tx, client_id: ClientId, merchant_id: MerchantId, reason: str, now: datetime) -> bool:
    """Insert a report; False if the merchant has reported the application on this day."""
    await tx.execute(LOCK, client_id)
    return await tx.execute(INSERT, new_id(), client_id, merchant_id, reason, now) > 0


async def is_first(tx: Tx, client_id: ClientId, now: datetime) -> bool:
    """Whether the report that was inserted is the first one about the application on this day."""
    return bool(await tx.fetchval(IS_FIRST, client_id, now))


async def list_operators(tx: Tx) -> list[str]:
    """The addresses of the operators."""
    return [row["email"] for row in await tx.fetch(OPERATORS)]


async def list_reports(db: Pool, client_id: ClientId, limit: int) -> list[ApplicationReport]:
    """The newest reports about an application."""
    rows = await db.fetch(LIST, client_id, limit)
    return [
        ApplicationReport(row["id"], row["merchant_id"], row["business_name"], row["reason"], stamp(row["created_at"]))
        for row in rows
    ]


async def delete_of_merchant(tx: Tx, merchant_id: MerchantId) -> int:
    """Delete what a merchant reported. Returns the number."""
    return await tx.execute(DELETE_OF_MERCHANT, merchant_id)
