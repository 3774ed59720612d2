"""Every SQL statement about balance payments."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.balance_payments.model import Application, BalancePayment, Status
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.platform.db import Pool, Row, Tx

CLIENT_ID = re.compile(r"thc_[0-9A-Za-z]{22}")
"""Nothing else from an address is shown to the database, which does not take every text."""

NAMES = "SELECT id, name FROM oauth_clients WHERE id = ANY($1::text[])"
OWNED_APPLICATIONS = """
    SELECT id, name, status FROM oauth_clients WHERE merchant_id = $1 ORDER BY created_at DESC, id DESC
"""
APPLICATION = "SELECT id, merchant_id FROM oauth_clients WHERE id = $1"
# By an operator, or because its owner is.
IS_SUSPENDED = """
    SELECT c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL
    FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id WHERE c.id = $1
"""
OWN = "SELECT id, merchant_id FROM oauth_clients WHERE merchant_id = $1 AND id = $2"
LOCK_OWN = "SELECT id, merchant_id, status FROM oauth_clients WHERE merchant_id = $1 AND id = $2 FOR SHARE"
# The application is connected to this merchant, and may do this: what a token of it would be asked.
CONNECTED = """
    SELECT c.id, c.merchant_id FROM oauth_clients c
    WHERE c.id = $3 AND c.status = 'enabled' AND EXISTS (
        SELECT FROM oauth_grants g
        WHERE g.client_id = c.id AND g.merchant_id = $1 AND g.mode = $2 AND g.revoked_at IS NULL AND g.expires_at > $4
          AND g.grant_epoch = c.grant_epoch AND g.scope_mask & c.scope_mask & $5 <> 0)
"""
CLOCK_OFFSET = "SELECT ahead FROM test_clocks WHERE merchant_id = $1 AND mode = $2"
INSERT = """
    INSERT INTO balance_payments (id, merchant_id, mode, client_id, owner_id, currency, amount_minor, captured_minor,
                                  hold_id, status, description, external_id, metadata, created_at, updated_at, expires_at,
                                  resolved_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15, $16)
    ON CONFLICT ON CONSTRAINT balance_payments_external_id DO NOTHING
"""
# Each statement names who may see the payment: its merchant, one application for it, or the application's owner.
ONE = """
    SELECT p.*, coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0') AS ahead
    FROM balance_payments p
    WHERE p.merchant_id = $1 AND p.mode = $2 AND p.id = $3 AND ($4::text IS NULL OR p.client_id = $4)
"""
LOCK = """
    SELECT p.*, coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0') AS ahead
    FROM balance_payments p
    WHERE p.merchant_id = $1 AND p.mode = $2 AND p.id = $3 AND ($4::text IS NULL OR p.client_id = $4)
    FOR NO KEY UPDATE OF p
"""
OWNED = """
    SELECT p.*, coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = (p.merchant_id, p.mode)), '0')
               AS ahead
    FROM balance_payments p WHERE p.owner_id = $1 AND p.client_id = $2 AND p.id = $3
"""
LOCK_OWNED = """
    SELECT p.*, coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = (p.merchant_id, p.mode)), '0')
               AS ahead
    FROM balance_payments p WHERE p.owner_id = $1 AND p.client_id = $2 AND p.id = $3 FOR NO KEY UPDATE OF p
"""
NAMED = "SELECT id, client_id FROM balance_payments WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
# A reservation is expired from its time on, though nobody may have written that down yet.
LIST = """
    SELECT * FROM (
        SELECT p.*, k.ahead, CASE WHEN p.status = 'reserved' AND p.expires_at <= $4::timestamptz + k.ahead THEN 'expired'
                             ELSE p.status END AS standing
        FROM balance_payments p
        CROSS JOIN (SELECT coalesce((SELECT c.ahead FROM test_clocks c
                                     WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')) k (ahead)
        WHERE p.merchant_id = $1 AND p.mode = $2 AND ($3::text IS NULL OR p.client_id = $3)
    ) found
    WHERE ($5::text[] IS NULL OR standing = ANY($5)) AND ($6::text IS NULL OR currency = $6)
      AND ($7::text IS NULL OR external_id = $7)
      AND created_at >= $8 AND (created_at, id) < ($9, $10)
    ORDER BY created_at DESC, id DESC LIMIT $11 OFFSET $12
"""
LIST_OWNED = """
    SELECT * FROM (
        SELECT p.*, k.ahead, CASE WHEN p.status = 'reserved' AND p.expires_at <= $3::timestamptz + k.ahead THEN 'expired'
                             ELSE p.status END AS standing
        FROM balance_payments p
        CROSS JOIN LATERAL (SELECT coalesce((SELECT c.ahead FROM test_clocks c
                                             WHERE (c.merchant_id, c.mode) = (p.merchant_id, p.mode)), '0')) k (ahead)
        WHERE p.owner_id = $1 AND p.client_id = $2
    ) found
    WHERE ($4::text[] IS NULL OR standing = ANY($4)) AND ($5::text IS NULL OR mode = $5)
      AND created_at >= $6 AND (created_at, id) < ($7, $8)
    ORDER BY created_at DESC, id DESC LIMIT $9 OFFSET $10
"""
# The row is locked and was judged; its version says that it is still the one that was.
CHANGE = """
    UPDATE balance_payments SET status = $5, captured_minor = $6, released_minor = $7, refunded_minor = $8, refunds = $9,
        resolved_at = $10, updated_at = $11, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND version = $4
"""
DUE = """
    SELECT merchant_id, mode, id FROM balance_payments WHERE status = 'reserved' AND expires_at <= $1
    ORDER BY expires_at LIMIT $2
"""
# The same where a merchant has moved its test clock ahead.
DUE_BY_CLOCK = """
    SELECT d.merchant_id, d.mode, d.id FROM test_clocks c
    CROSS JOIN LATERAL (SELECT * FROM balance_payments p
                        WHERE p.merchant_id = c.merchant_id AND p.mode = 'test' AND p.status = 'reserved'
                          AND p.expires_at > $1 AND p.expires_at <= $1::timestamptz + c.ahead LIMIT $2) d
    LIMIT $2
"""


class PaymentFilter(Struct, frozen=True):
    """Which payments to list; None leaves a filter out."""

    status: list[Status] | None = None
    currency: str | None = None
    external_id: str | None = None


class OwnedApplication(Struct, frozen=True):
    """An application, as its owner's pages name it."""

    client_id: ClientId
    name: str
    status: str


async def names(db: Pool, client_ids: Iterable[ClientId]) -> dict[ClientId, str]:
    """What these applications are called."""
    return {ClientId(row["id"]): row["name"] for row in await db.fetch(NAMES, [*client_ids])}


async def owned_applications(db: Pool, owner: MerchantId) -> list[OwnedApplication]:
    """The applications of an owner, the newest first."""
    rows = await db.fetch(OWNED_APPLICATIONS, owner)
    return [OwnedApplication(ClientId(row["id"]), row["name"], row["status"]) for row in rows]


async def application(tx: Tx, client_id: ClientId) -> Application:
    """The application of an access token."""
    row = await tx.fetchrow(APPLICATION, client_id)
    if row is None:
        raise AssertionError("applications are never deleted")
    return _application(row)


async def is_suspended(tx: Tx, client_id: ClientId) -> bool:
    """Whether an operator suspended the application, or its owner is suspended."""
    return bool(await tx.fetchval(IS_SUSPENDED, client_id))


async def lock_own(tx: Tx, owner: MerchantId, client_id: str) -> tuple[Application, bool] | None:
    """An application of this owner, which nobody revokes until this transaction ends, and whether it is revoked."""
    row = await tx.fetchrow(LOCK_OWN, owner, client_id) if CLIENT_ID.fullmatch(client_id) else None
    return None if row is None else (_application(row), row["status"] == "revoked")


async def own(db: Pool, owner: MerchantId, client_id: str) -> Application | None:
    """An application of this owner."""
    row = await db.fetchrow(OWN, owner, client_id) if CLIENT_ID.fullmatch(client_id) else None
    return None if row is None else _application(row)


async def connected(tx: Tx, env: MerchantEnv, client_id: str, scope_mask: int, now: datetime) -> Application | None:
    """The application of this name, if the merchant is connected to it with this permission."""
    row = await tx.fetchrow(CONNECTED, env.merchant_id, env.mode, client_id, now, scope_mask)
    return None if row is None else _application(row)


async def clock_offset(tx: Tx, env: MerchantEnv) -> timedelta:
    """How far the merchant's test clock is ahead."""
    return await tx.fetchval(CLOCK_OFFSET, env.merchant_id, env.mode) or timedelta()


async def insert(tx: Tx, payment: BalancePayment) -> bool:
    """Keep a new payment; False where its external_id was taken meanwhile."""
    return (
        await tx.execute(
            INSERT,
            payment.id,
            payment.env.merchant_id,
            payment.env.mode,
            payment.client_id,
            payment.owner_id,
            payment.currency,
            payment.amount_minor,
            payment.captured_minor,
            payment.hold_id,
            payment.status,
            payment.description,
            payment.external_id,
            msgspec.json.encode(payment.metadata).decode(),
            payment.created_at,
            payment.expires_at,
            payment.resolved_at,
        )
        == 1
    )


async def one(db: Pool, env: MerchantEnv, client_id: ClientId | None, payment_id: UUID) -> BalancePayment | None:
    """This payment of this merchant, of one application alone where that is named."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, payment_id, client_id)
    return None if row is None else _payment(row)


async def lock(tx: Tx, env: MerchantEnv, client_id: ClientId | None, payment_id: UUID) -> BalancePayment | None:
    """The same, and nobody else changes it until this transaction ends."""
    row = await tx.fetchrow(LOCK, env.merchant_id, env.mode, payment_id, client_id)
    return None if row is None else _payment(row)


async def owned(db: Pool, owner: MerchantId, client_id: str, payment_id: UUID) -> BalancePayment | None:
    """This payment of an application, for the application's owner."""
    row = await db.fetchrow(OWNED, owner, client_id, payment_id) if CLIENT_ID.fullmatch(client_id) else None
    return None if row is None else _payment(row)


async def lock_owned(tx: Tx, own: Application, payment_id: UUID) -> BalancePayment | None:
    """The same, and nobody else changes it until this transaction ends."""
    row = await tx.fetchrow(LOCK_OWNED, own.owner_id, own.client_id, payment_id)
    return None if row is None else _payment(row)


async def named(tx: Tx, env: MerchantEnv, external_id: str) -> tuple[UUID, ClientId] | None:
    """The payment that has this external_id, and whose application's it is."""
    row = await tx.fetchrow(NAMED, env.merchant_id, env.mode, external_id)
    return None if row is None else (row["id"], ClientId(row["client_id"]))


async def listed(
    db: Pool, env: MerchantEnv, client_id: ClientId | None, wanted: PaymentFilter, now: datetime, window: Window
) -> list[BalancePayment]:
    """A page of a merchant's payments, of one application alone where that is named, newest first."""
    which = (wanted.status, wanted.currency, wanted.external_id)
    rows = await db.fetch_fresh(LIST, env.merchant_id, env.mode, client_id, now, *which, *msgspec.structs.astuple(window))
    return [_payment(row) for row in rows]


async def listed_owned(
    db: Pool, own: Application, status: Sequence[Status] | None, mode: str | None, now: datetime, window: Window
) -> list[BalancePayment]:
    """A page of all payments to an application's owner, newest first."""
    rows = await db.fetch_fresh(LIST_OWNED, own.owner_id, own.client_id, now, status, mode, *msgspec.structs.astuple(window))
    return [_payment(row) for row in rows]


async def change(tx: Tx, payment: BalancePayment) -> None:
    """Write what became of a locked payment."""
    written = await tx.execute(
        CHANGE,
        payment.env.merchant_id,
        payment.env.mode,
        payment.id,
        payment.version - 1,
        payment.status,
        payment.captured_minor,
        payment.released_minor,
        payment.refunded_minor,
        payment.refunds,
        payment.resolved_at,
        payment.updated_at,
    )
    if written != 1:
        raise AssertionError("a locked payment cannot change under us")


async def due(db: Pool, now: datetime, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """Reservations whose time is over, which nobody has released yet."""
    rows = [*await db.fetch(DUE, now, limit), *await db.fetch(DUE_BY_CLOCK, now, limit)]
    return [(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["id"]) for row in rows]


def _application(row: Row) -> Application:
    return Application(ClientId(row["id"]), MerchantId(row["merchant_id"]))


def _payment(row: Row) -> BalancePayment:
    return BalancePayment(
        id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        client_id=ClientId(row["client_id"]),
        owner_id=MerchantId(row["owner_id"]),
        currency=row["currency"],
        amount_minor=row["amount_minor"],
        captured_minor=row["captured_minor"],
        released_minor=row["released_minor"],
        refunded_minor=row["refunded_minor"],
        refunds=row["refunds"],
        hold_id=row["hold_id"],
        status=row["status"],
        description=row["description"],
        external_id=row["external_id"],
        metadata=msgspec.json.decode(row["metadata"], type=dict[str, str]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        expires_at=row["expires_at"],
        resolved_at=row["resolved_at"],
        clock_offset=row["ahead"],
    )
