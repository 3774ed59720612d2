"""Every SQL statement about withdrawals and their quotes."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.http.lists import ListQuery
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.orders import quotes
from tollhouse.orders.quotes import Quote
from tollhouse.orders.store import fetch_one, fetch_page, order_of, values_of
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.withdrawals.model import Withdrawal, WithdrawalStatus, WithdrawalTerms

INSERT = """
    INSERT INTO withdrawals (id, merchant_id, mode, method_id, rail, currency, amount_minor, network_fee_mode,
                             system_fee_minor, network_fee_minor, debit_minor, receive_minor, receiver, provider_fields,
                             quote_id, hold_id, status, webhook_url, external_id, description, metadata, next_look_at,
                             created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
    ON CONFLICT (merchant_id, mode, external_id) DO NOTHING
"""
ID_BY_EXTERNAL_ID = "SELECT id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
ID_BY_QUOTE = "SELECT id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND quote_id = $3"
GET = "SELECT * FROM whole_withdrawals WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LOCK = "SELECT * FROM whole_withdrawals WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE"
LIST = """
    SELECT * FROM whole_withdrawals
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR currency = $4)
      AND ($5::text IS NULL OR method_id = $5) AND ($6::text IS NULL OR external_id = $6)
      AND created_at >= $7 AND (created_at, id) < ($8, $9)
    ORDER BY created_at DESC, id DESC LIMIT $10 OFFSET $11
"""
# The lease is the next poll time: after a worker dies, another takes its withdrawals when the lease ends.
LEASE_DUE = """
    UPDATE withdrawals w SET next_look_at = $1::timestamptz + $2::interval
    FROM (SELECT id FROM withdrawals WHERE next_look_at <= $1
          ORDER BY next_look_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) due, outgoing_transfers o
    WHERE w.id = due.id AND o.id = w.id
    RETURNING w.*, o.approvals_needed, o.approvals, o.reviewed_at, o.review_note
"""
SET_NEXT_POLL = """
    UPDATE withdrawals SET next_look_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
"""
# A compare-and-set on the status and version that were read.
UPDATE = """
    UPDATE withdrawals
    SET status = $6, submission = $7, provider_reference = $8, tx_hash = $9, network_paid_minor = $10, failure_code = $11,
        next_look_at = $12, processing_at = $13, completed_at = $14, updated_at = $15, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = $4 AND version = $5
"""
INSERT_QUOTE = """
    INSERT INTO withdrawal_quotes (id, merchant_id, mode, method_id, currency, amount_minor, network_fee_mode,
                                   system_fee_minor, network_fee_minor, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
LOCK_QUOTE = "SELECT * FROM withdrawal_quotes WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE"
USE_QUOTE = """
    UPDATE withdrawal_quotes SET used_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
"""
DELETE_OLD_QUOTES = "DELETE FROM withdrawal_quotes WHERE created_at < $1"


class WithdrawalsQuery(ListQuery, frozen=True):
    """Filters of GET /withdrawals."""

    status: list[WithdrawalStatus] | None = None
    currency: str | None = None
    method_id: str | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Withdrawal) -> bool:
    """Insert a withdrawal; False where another one has its external id."""
    return await tx.execute(INSERT, *values_of(new, INSERT)) == 1


async def id_by_quote(db: Pool | Tx, env: MerchantEnv, quote_id: UUID) -> UUID | None:
    """The withdrawal that used a quote."""
    row = await db.fetchrow(ID_BY_QUOTE, env.merchant_id, env.mode, quote_id)
    return None if row is None else row["id"]


async def get(db: Pool | Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """A withdrawal of a merchant and mode. Raises `NotFound`."""
    return await fetch_one(db, _withdrawal, GET, env.merchant_id, env.mode, withdrawal_id)


async def lock(tx: Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """Lock a withdrawal until the transaction ends, and return it. Raises `NotFound`."""
    return await fetch_one(tx, _withdrawal, LOCK, env.merchant_id, env.mode, withdrawal_id)


async def list_withdrawals(db: Pool, env: MerchantEnv, query: WithdrawalsQuery, window: Window) -> list[Withdrawal]:
    """A page of withdrawals, newest first."""
    filters = (query.status, query.currency, query.method_id, query.external_id)
    return await fetch_page(db, _withdrawal, LIST, window, env.merchant_id, env.mode, *filters)


async def lease_due(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[Withdrawal]:
    """Withdrawals that are due to be sent or polled, leased to this caller."""
    return [_withdrawal(row) for row in await db.fetch(LEASE_DUE, now, lease, limit)]


async def set_next_poll(db: Pool, withdrawal: Withdrawal, at: datetime) -> None:
    """Poll the rail for it again at this time."""
    await db.execute(SET_NEXT_POLL, withdrawal.env.merchant_id, withdrawal.env.mode, withdrawal.id, at)


async def update(tx: Tx, current: Withdrawal, now: datetime, **members: object) -> Withdrawal:
    """Change members of a locked withdrawal, and return it as stored."""
    new = msgspec.structs.replace(current, **members, updated_at=now)
    row = (current.env.merchant_id, current.env.mode, current.id, current.status, current.version)
    sent = (new.submission, new.provider_reference, new.tx_hash, new.network_paid_minor, new.failure_code)
    times = (new.next_look_at, new.processing_at, new.completed_at, new.updated_at)
    if await tx.execute(UPDATE, *row, new.status, *sent, *times) != 1:
        raise AssertionError("another transaction cannot change a locked withdrawal")
    return msgspec.structs.replace(new, version=current.version + 1)


async def insert_quote(tx: Tx, quote: Quote[WithdrawalTerms]) -> None:
    """Insert a quote."""
    terms = msgspec.structs.asdict(quote.terms)
    await tx.execute(INSERT_QUOTE, *values_of(quote, INSERT_QUOTE, **terms))


async def lock_quote(tx: Tx, env: MerchantEnv, quote_id: UUID) -> Quote[WithdrawalTerms]:
    """Lock a quote until the transaction ends, and return it. Raises `NotFound`."""
    return await quotes.lock(tx, LOCK_QUOTE, env, quote_id, _terms)


def _withdrawal(row: Row) -> Withdrawal:
    return order_of(Withdrawal, row, approvals=tuple(row["approvals"]))


def _terms(row: Row) -> WithdrawalTerms:
    return WithdrawalTerms(*(row[name] for name in WithdrawalTerms.__struct_fields__))
