"""Every SQL statement about balance payments, and their invariants."""

import re
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.transfers.balance_payments.model import (
    BALANCE_PAYMENT,
    BalancePayment,
    BalancePaymentStatus,
    PayeeApplication,
)
from tollhouse.transfers.orders.store import env_of, fetch_one, fetch_page

CLIENT_ID = re.compile(r"thc_[0-9A-Za-z]{22}")
"""The form of client ids. PostgreSQL rejects some other texts that an address can hold."""

APPLICATION_NAMES = "SELECT id, name FROM oauth_clients WHERE id = ANY($1::text[])"
LIST_APPLICATIONS = """
    SELECT id, merchant_id, name, status FROM oauth_clients WHERE merchant_id = $1 ORDER BY created_at DESC, id DESC
"""
# An application without an owner is paid nothing.
GET_PAYEE = "SELECT id, merchant_id, name, status FROM oauth_clients WHERE id = $1 AND merchant_id IS NOT NULL"
# Whether an operator suspended the application or its owner, and until when the payment waits after a change of an address.
OBSTACLES = """
    SELECT c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS is_suspended,
           w.until IS NOT NULL AS waits, nullif(w.until, 'infinity') AS waits_until
    FROM balance_payments_wait_until($2, $3, $4, $5, $6) w (until), oauth_clients c
    LEFT JOIN merchants o ON o.id = c.merchant_id
    WHERE c.id = $1
"""
GET_APPLICATION = "SELECT id, merchant_id, name, status FROM oauth_clients WHERE merchant_id = $1 AND id = $2"
LOCK_APPLICATION = """
    SELECT id, merchant_id, name, status FROM oauth_clients WHERE merchant_id = $1 AND id = $2 FOR SHARE
"""
# An enabled application that has an active grant of this merchant with this scope.
GET_CONNECTED = """
    SELECT c.id, c.merchant_id, c.name, c.status FROM oauth_clients c
    WHERE c.id = $3 AND c.status = 'enabled' AND c.merchant_id IS NOT NULL AND EXISTS (
        SELECT FROM oauth_grants g
        WHERE g.client_id = c.id AND g.merchant_id = $1 AND g.mode = $2 AND g.revoked_at IS NULL AND g.expires_at > $4
          AND g.grant_epoch = c.grant_epoch AND g.scope_mask & c.scope_mask & $5 <> 0)
"""
INSERT = f"{BALANCE_PAYMENT.insert} ON CONFLICT ON CONSTRAINT balance_payments_external_id DO NOTHING"
# Each statement restricts access: to the paying merchant, to one application of it, or to the application's owner.
GET = f"""
    SELECT {BALANCE_PAYMENT.columns_of("p")} FROM balance_payments p
    WHERE p.merchant_id = $1 AND p.mode = $2 AND p.id = $3 AND ($4::text IS NULL OR p.client_id = $4)
"""
LOCK = f"{GET} FOR NO KEY UPDATE OF p"
GET_RECEIVED = f"""
    SELECT {BALANCE_PAYMENT.columns_of("p")} FROM balance_payments p
    WHERE p.owner_id = $1 AND p.client_id = $2 AND p.id = $3
"""
LOCK_RECEIVED = f"{GET_RECEIVED} FOR NO KEY UPDATE OF p"
BY_EXTERNAL_ID = "SELECT id, client_id FROM balance_payments WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
# A reservation counts as expired from `expires_at` on, even before the job has updated its row.
LIST = f"""
    SELECT {BALANCE_PAYMENT.columns_of("p")} FROM balance_payments p
    WHERE p.merchant_id = $1 AND p.mode = $2 AND ($3::text IS NULL OR p.client_id = $3)
      AND ($5::text[] IS NULL OR p.status = ANY (stored_statuses($5, 'reserved')))
      AND ($5 IS NULL OR status_at(p.status, 'reserved', p.expires_at, $4::timestamptz + coalesce(
           (SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')) = ANY ($5))
      AND ($6::text IS NULL OR p.currency = $6) AND ($7::text IS NULL OR p.external_id = $7)
      AND p.created_at >= $8 AND (p.created_at, p.id) < ($9, $10)
    ORDER BY p.created_at DESC, p.id DESC LIMIT $11 OFFSET $12
"""
LIST_RECEIVED = f"""
    SELECT {BALANCE_PAYMENT.columns_of("p")} FROM balance_payments p
    WHERE p.owner_id = $1 AND p.client_id = $2
      AND ($4::text[] IS NULL OR p.status = ANY (stored_statuses($4, 'reserved')))
      AND ($4 IS NULL OR status_at(p.status, 'reserved', p.expires_at, $3::timestamptz + coalesce(
           (SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = (p.merchant_id, p.mode)), '0')) = ANY ($4))
      AND ($5::text IS NULL OR p.mode = $5)
      AND p.created_at >= $6 AND (p.created_at, p.id) < ($7, $8)
    ORDER BY p.created_at DESC, p.id DESC LIMIT $9 OFFSET $10
"""
# A compare-and-set on the version of the locked row.
UPDATE = """
    UPDATE balance_payments SET status = $5, captured_minor = $6, released_minor = $7, refunded_minor = $8, refunds = $9,
        resolved_at = $10, updated_at = $11, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND version = $4
"""
LIST_DUE = """
    SELECT merchant_id, mode, id FROM balance_payments WHERE status = 'reserved' AND expires_at <= $1
    ORDER BY expires_at LIMIT $2
"""
# The same for merchants that have advanced their test clock.
LIST_DUE_BY_TEST_CLOCK = """
    SELECT d.merchant_id, d.mode, d.id FROM test_clocks c
    CROSS JOIN LATERAL (SELECT p.merchant_id, p.mode, p.id FROM balance_payments p
                        WHERE p.merchant_id = c.merchant_id AND p.mode = 'test' AND p.status = 'reserved'
                          AND p.expires_at > $1 AND p.expires_at <= $1::timestamptz + c.ahead LIMIT $2) d
    LIMIT $2
"""
I16_HELD = """
    SELECT format('balance payment %s is %s of %s with %s captured; its hold is %s of %s with %s captured', p.id, p.status,
                  p.amount_minor, p.captured_minor, h.status, h.amount, h.captured) AS line
    FROM balance_payments p JOIN ledger_holds h ON h.id = p.hold_id
    WHERE p.id = ANY ($1::uuid[]) AND (
          (p.status = 'reserved') <> (h.status = 'active') OR (h.source_type, h.source_id) <> ('balance_payment', p.id)
       OR (h.merchant_id, h.mode, h.currency, h.amount, h.captured, h.released)
          <> (p.merchant_id, p.mode, p.currency, p.amount_minor, p.captured_minor, p.released_minor))
"""
I16_UNCLAIMED = """
    SELECT format('hold %s is of balance payment %s, which does not know of it', h.id, h.source_id) AS line
    FROM ledger_holds h
    WHERE h.id = ANY ($1::uuid[]) AND h.source_type = 'balance_payment'
      AND NOT EXISTS (SELECT FROM balance_payments p WHERE p.hold_id = h.id)
"""
I16_BOOKED = """
    SELECT format('balance payment %s: %s captured and %s refunded; the ledger gave the owner %s and %s back', p.id,
                  p.captured_minor, p.refunded_minor, coalesce(e.paid, 0), coalesce(e.refunded, 0)) AS line
    FROM balance_payments p
    CROSS JOIN LATERAL (
               SELECT sum(x.delta) FILTER (WHERE x.type = 'balance_payment_in') AS paid,
                      -sum(x.delta) FILTER (WHERE x.type = 'balance_payment_refund') AS refunded
               FROM ledger_transactions l JOIN ledger_entries x ON x.transaction_id = l.id AND x.mode = l.mode
               WHERE l.source_type = 'balance_payment' AND l.source_id = p.id AND x.account = 'available'
                 AND x.merchant_id = p.owner_id) e
    WHERE p.id = ANY ($1::uuid[]) AND (p.captured_minor, p.refunded_minor) <> (coalesce(e.paid, 0), coalesce(e.refunded, 0))
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I16", "a reservation equals its hold", I16_HELD, "balance_payment"),
    Invariant("I16", "every hold has a balance payment", I16_UNCLAIMED, "hold"),
    Invariant("I16", "captured and refunded amounts are in the ledger", I16_BOOKED, "balance_payment"),
)


class BalancePaymentsQuery(ListQuery, frozen=True):
    """Filters of GET /balance-payments."""

    status: list[BalancePaymentStatus] | None = None
    currency: str | None = None
    external_id: str | None = None


class ReceivedPaymentsQuery(ListQuery, frozen=True):
    """Filters of the list of payments to an application's owner."""

    status: list[BalancePaymentStatus] | None = None
    mode: Mode | None = None


async def application_names(db: Pool | Tx, client_ids: Iterable[ClientId]) -> dict[ClientId, str]:
    """The names of applications by id."""
    return {ClientId(row["id"]): row["name"] for row in await db.fetch(APPLICATION_NAMES, [*client_ids])}


async def list_applications(db: Pool, owner: MerchantId) -> list[PayeeApplication]:
    """The applications of an owner, newest first."""
    return [_application(row) for row in await db.fetch(LIST_APPLICATIONS, owner)]


async def get_application(db: Pool, owner: MerchantId, client_id: str) -> PayeeApplication:
    """An application of this owner. Raises `NotFound`."""
    return await fetch_one(db, _application, GET_APPLICATION, owner, _checked(client_id))


async def lock_application(tx: Tx, owner: MerchantId, client_id: str) -> PayeeApplication:
    """An application of this owner, whose status cannot change until the transaction ends. Raises `NotFound`."""
    return await fetch_one(tx, _application, LOCK_APPLICATION, owner, _checked(client_id))


async def get_payee(tx: Tx, client_id: ClientId) -> PayeeApplication:
    """The application of an access token."""
    return await fetch_one(tx, _application, GET_PAYEE, client_id)


async def get_connected(tx: Tx, env: MerchantEnv, client_id: str, scope_mask: int, now: datetime) -> PayeeApplication:
    """An application that the merchant has granted a scope. Raises `NotFound`."""
    return await fetch_one(tx, _application, GET_CONNECTED, env.merchant_id, env.mode, client_id, now, scope_mask)


async def find_obstacles(tx: Tx, payment: BalancePayment, now: datetime) -> Row:
    """Whether application or owner `is_suspended`, and whether the payment `waits`, `waits_until` when: null if for good."""
    env = payment.env
    values = (payment.client_id, env.merchant_id, env.mode, payment.owner_id, payment.created_at, now)
    [row] = await tx.fetch(OBSTACLES, *values)
    return row


async def insert(tx: Tx, payment: BalancePayment) -> bool:
    """Insert a payment; False where another one has its external id."""
    return await tx.try_write(INSERT, *BALANCE_PAYMENT.values(payment), strict=BALANCE_PAYMENT.insert)


async def get(db: Pool, env: MerchantEnv, client_id: ClientId | None, payment_id: UUID) -> BalancePayment:
    """A payment of a merchant, of one application only where given. Raises `NotFound`."""
    return await BALANCE_PAYMENT.get(db, GET, env.merchant_id, env.mode, payment_id, client_id)


async def lock(tx: Tx, env: MerchantEnv, client_id: ClientId | None, payment_id: UUID) -> BalancePayment:
    """Lock such a payment until the transaction ends, and return it. Raises `NotFound`."""
    return await BALANCE_PAYMENT.get(tx, LOCK, env.merchant_id, env.mode, payment_id, client_id)


async def get_received(db: Pool | Tx, owner: MerchantId, client_id: str, payment_id: UUID) -> BalancePayment:
    """A payment to an application's owner. Raises `NotFound`."""
    return await BALANCE_PAYMENT.get(db, GET_RECEIVED, owner, _checked(client_id), payment_id)


async def lock_received(tx: Tx, application: PayeeApplication, payment_id: UUID) -> BalancePayment:
    """Lock such a payment until the transaction ends, and return it. Raises `NotFound`."""
    return await BALANCE_PAYMENT.get(tx, LOCK_RECEIVED, application.owner_id, application.client_id, payment_id)


async def by_external_id(tx: Tx, env: MerchantEnv, external_id: str) -> tuple[UUID, ClientId] | None:
    """The id and application of the payment with this external id."""
    row = await tx.fetchrow(BY_EXTERNAL_ID, env.merchant_id, env.mode, external_id)
    return None if row is None else (row["id"], ClientId(row["client_id"]))


async def list_payments(
    db: Pool, env: MerchantEnv, client_id: ClientId | None, query: BalancePaymentsQuery, now: datetime, window: Window
) -> list[BalancePayment]:
    """A page of a merchant's payments, of one application only where given, newest first."""
    filters = (client_id, now, query.status, query.currency, query.external_id)
    return await fetch_page(db, BALANCE_PAYMENT.read, LIST, window, env.merchant_id, env.mode, *filters)


async def list_received(
    db: Pool, application: PayeeApplication, query: ReceivedPaymentsQuery, now: datetime, window: Window
) -> list[BalancePayment]:
    """A page of the payments to an application's owner, newest first."""
    payee = (application.owner_id, application.client_id)
    return await fetch_page(db, BALANCE_PAYMENT.read, LIST_RECEIVED, window, *payee, now, query.status, query.mode)


async def update(tx: Tx, payment: BalancePayment) -> None:
    """Write a new version of a locked payment."""
    row = (payment.env.merchant_id, payment.env.mode, payment.id, payment.version - 1)
    amounts = (payment.captured_minor, payment.released_minor, payment.refunded_minor, payment.refunds)
    if await tx.execute(UPDATE, *row, payment.status, *amounts, payment.resolved_at, payment.updated_at) != 1:
        raise AssertionError("another transaction cannot change a locked payment")


async def list_due(db: Pool, now: datetime, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """Reservations that have expired and are not released yet."""
    rows = [*await db.fetch(LIST_DUE, now, limit), *await db.fetch(LIST_DUE_BY_TEST_CLOCK, now, limit)]
    return [(env_of(row), row["id"]) for row in rows]


def _checked(client_id: str) -> str:
    """Raises `NotFound` for a text that is no client id."""
    if not CLIENT_ID.fullmatch(client_id):
        raise NotFound
    return client_id


def _application(row: Row) -> PayeeApplication:
    return PayeeApplication(ClientId(row["id"]), MerchantId(row["merchant_id"]), row["name"], row["status"])
