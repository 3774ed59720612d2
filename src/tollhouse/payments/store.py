"""Every SQL statement about payment links."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.model import CreatedBy, PaymentLink
from tollhouse.platform.db import Pool, Row, Tx

INSERT = """
    INSERT INTO payment_links (id, merchant_id, mode, token, project_id, display_name, description, amount_minor, currency,
                               webhook_url, external_id, metadata, payment_method_ids, success_url, cancel_url,
                               customer_email, max_payments, created_by_type, created_by_client_id, status,
                               created_at, updated_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, 'active', $20, $20, $21)
"""
ONE = """
    SELECT id, merchant_id, mode, token, project_id, display_name, description, amount_minor, currency, webhook_url,
           external_id, metadata, payment_method_ids, success_url, cancel_url, customer_email, max_payments,
           payments_count, amount_paid_minor, latest_transaction_id, created_by_type, created_by_client_id, status,
           version, created_at, updated_at, expires_at, completed_at, canceled_at
    FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
LOCK = """
    SELECT id, merchant_id, mode, token, project_id, display_name, description, amount_minor, currency, webhook_url,
           external_id, metadata, payment_method_ids, success_url, cancel_url, customer_email, max_payments,
           payments_count, amount_paid_minor, latest_transaction_id, created_by_type, created_by_client_id, status,
           version, created_at, updated_at, expires_at, completed_at, canceled_at
    FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE
"""
# The customer knows the token alone; whose link it is comes out of it.
BEHIND_ADDRESS = """
    SELECT l.id, l.merchant_id, l.mode, l.token, l.project_id, l.display_name, l.description, l.amount_minor, l.currency,
           l.webhook_url, l.external_id, l.metadata, l.payment_method_ids, l.success_url, l.cancel_url, l.customer_email,
           l.max_payments, l.payments_count, l.amount_paid_minor, l.latest_transaction_id, l.created_by_type,
           l.created_by_client_id, l.status, l.version, l.created_at, l.updated_at, l.expires_at, l.completed_at,
           l.canceled_at, m.business_name, m.suspended_at
    FROM payment_links l JOIN merchants m ON m.id = l.merchant_id WHERE l.token = $1
"""
# A link is expired from its time on, though nobody may have written that down yet.
LIST = """
    SELECT id, merchant_id, mode, token, project_id, display_name, description, amount_minor, currency, webhook_url,
           external_id, metadata, payment_method_ids, success_url, cancel_url, customer_email, max_payments,
           payments_count, amount_paid_minor, latest_transaction_id, created_by_type, created_by_client_id, status,
           version, created_at, updated_at, expires_at, completed_at, canceled_at
    FROM payment_links
    WHERE merchant_id = $1 AND mode = $2
      AND ($3::text IS NULL OR CASE WHEN status = 'active' AND expires_at <= $4 THEN 'expired' ELSE status END = $3)
      AND ($5::text IS NULL OR currency = $5) AND ($6::uuid IS NULL OR project_id = $6)
      AND ($7::text IS NULL OR external_id = $7)
      AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
    ORDER BY created_at DESC, id DESC LIMIT $10 OFFSET $11
"""
CANCEL_IF_ACTIVE = """
    UPDATE payment_links SET status = 'canceled', canceled_at = $4, updated_at = $4, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active' AND expires_at > $4
"""
NOTE_ATTEMPT = """
    UPDATE payment_links SET latest_transaction_id = $4, updated_at = $5, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
COUNT_PAYMENT = """
    UPDATE payment_links SET payments_count = payments_count + 1, amount_paid_minor = amount_paid_minor + $5,
        latest_transaction_id = $4, updated_at = $6, version = version + 1,
        status = CASE WHEN payments_count + 1 = max_payments THEN 'completed' ELSE status END,
        completed_at = CASE WHEN payments_count + 1 = max_payments THEN $6::timestamptz END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active'
"""


class LinkFilter(Struct, frozen=True):
    """Which links to list; None leaves a filter out."""

    status: str | None = None
    currency: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


class Shown(Struct, frozen=True):
    """A link as the customer finds it: with the name of the shop, and whether the shop may sell at all."""

    link: PaymentLink
    business_name: str
    suspended: bool


async def insert(tx: Tx, link: PaymentLink) -> None:
    """Keep a new link."""
    await tx.execute(
        INSERT,
        link.id,
        link.env.merchant_id,
        link.env.mode,
        link.token,
        link.project_id,
        link.display_name,
        link.description,
        link.amount_minor,
        link.currency,
        link.webhook_url,
        link.external_id,
        msgspec.json.encode(link.metadata).decode(),
        link.payment_method_ids,
        link.success_url,
        link.cancel_url,
        link.customer_email,
        link.max_payments,
        link.created_by.type,
        link.created_by.oauth_client_id,
        link.created_at,
        link.expires_at,
    )


async def one(db: Pool | Tx, env: MerchantEnv, link_id: UUID) -> PaymentLink | None:
    """This link of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, link_id)
    return None if row is None else _link(row)


async def lock(tx: Tx, env: MerchantEnv, link_id: UUID) -> PaymentLink | None:
    """The same, and nobody else changes it or begins a payment of it until this transaction ends."""
    row = await tx.fetchrow(LOCK, env.merchant_id, env.mode, link_id)
    return None if row is None else _link(row)


async def by_token(db: Pool | Tx, token: str) -> Shown | None:
    """The link of a checkout page."""
    row = await db.fetchrow(BEHIND_ADDRESS, token)
    return None if row is None else Shown(_link(row), row["business_name"], row["suspended_at"] is not None)


async def listed(
    db: Pool, env: MerchantEnv, wanted: LinkFilter, now: datetime, limit: int, offset: int
) -> list[PaymentLink]:
    """A page of links, newest first."""
    rows = await db.fetch(
        LIST,
        env.merchant_id,
        env.mode,
        wanted.status,
        now,
        wanted.currency,
        wanted.project_id,
        wanted.external_id,
        wanted.created_from,
        wanted.created_to,
        limit,
        offset,
    )
    return [_link(row) for row in rows]


async def cancel_if_active(tx: Tx, env: MerchantEnv, link_id: UUID, now: datetime) -> bool:
    """Move an active link to canceled; False when it is not active."""
    return await tx.execute(CANCEL_IF_ACTIVE, env.merchant_id, env.mode, link_id, now) == 1


async def note_attempt(tx: Tx, link: PaymentLink, transaction_id: UUID, now: datetime) -> None:
    """Remember the attempt that is made now."""
    await tx.execute(NOTE_ATTEMPT, link.env.merchant_id, link.env.mode, link.id, transaction_id, now)


async def count_payment(tx: Tx, link: PaymentLink, transaction_id: UUID, received_minor: int, now: datetime) -> bool:
    """Count a payment, and complete the link with its last one; False when the link is no longer active."""
    env = link.env
    return await tx.execute(COUNT_PAYMENT, env.merchant_id, env.mode, link.id, transaction_id, received_minor, now) == 1


def _link(row: Row) -> PaymentLink:
    methods: list[str] | None = row["payment_method_ids"]
    return PaymentLink(
        id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        token=row["token"],
        project_id=row["project_id"],
        display_name=row["display_name"],
        description=row["description"],
        amount_minor=row["amount_minor"],
        currency=row["currency"],
        webhook_url=row["webhook_url"],
        external_id=row["external_id"],
        metadata=msgspec.json.decode(row["metadata"], type=dict[str, str]),
        payment_method_ids=None if methods is None else tuple(methods),
        success_url=row["success_url"],
        cancel_url=row["cancel_url"],
        customer_email=row["customer_email"],
        max_payments=row["max_payments"],
        created_by=CreatedBy(row["created_by_type"], row["created_by_client_id"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        updated_at=row["updated_at"],
        payments_count=row["payments_count"],
        amount_paid_minor=row["amount_paid_minor"],
        latest_transaction_id=row["latest_transaction_id"],
        status=row["status"],
        version=row["version"],
        completed_at=row["completed_at"],
        canceled_at=row["canceled_at"],
    )
