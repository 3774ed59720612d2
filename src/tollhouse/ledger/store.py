"""Every SQL statement about postings, entries, balances and holds."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.audit import author
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.ledger.model import Entry, Hold, Posted, Posting, Source, spare_ids
from tollhouse.platform.db import Pool, Row, Tx

# The application's row names the transaction that the function writes: foreign keys are looked at when the statement ends.
POST = """
    WITH application AS (
        INSERT INTO ledger_transaction_applications (transaction_id, mode, oauth_client_id)
        SELECT $1, $2, $16 WHERE $16::text IS NOT NULL
    )
    SELECT id, transaction_id, merchant_id, currency, account, type, delta, balance_after, version, created_at
    FROM ledger_post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""
# One statement, hence one snapshot: accounts and holds agree.
BALANCES = """
    SELECT a.currency,
           coalesce(max(a.balance) FILTER (WHERE a.code = 'available'), 0) AS available,
           coalesce(max(a.balance) FILTER (WHERE a.code = 'pending'), 0) AS pending,
           coalesce(max(a.balance) FILTER (WHERE a.code = 'reserved'), 0) AS reserved,
           coalesce(max(a.balance) FILTER (WHERE a.code = 'debt'), 0) AS debt,
           sum(a.version)::bigint AS version, max(a.updated_at) AS updated_at,
           coalesce(max(h.withdrawals), 0) AS held_for_withdrawals,
           coalesce(max(h.balance_payments), 0) AS held_for_balance_payments,
           coalesce(max(h.refunds), 0) AS held_for_refunds,
           coalesce(max(h.fulfillments), 0) AS held_for_fulfillments
    FROM ledger_accounts a
    LEFT JOIN (
        SELECT currency,
               (sum(amount - captured - released) FILTER (WHERE source_type = 'withdrawal'))::bigint AS withdrawals,
               (sum(amount - captured - released) FILTER (WHERE source_type = 'balance_payment'))::bigint
                   AS balance_payments,
               (sum(amount - captured - released) FILTER (WHERE source_type = 'refund'))::bigint AS refunds,
               (sum(amount - captured - released) FILTER (WHERE source_type = 'fulfillment'))::bigint AS fulfillments
        FROM ledger_holds WHERE merchant_id = $1 AND mode = $2 AND status = 'active' GROUP BY currency
    ) h ON h.currency = a.currency
    WHERE a.owner = $1 AND a.mode = $2 AND ($3::text IS NULL OR a.currency = $3)
    GROUP BY a.currency ORDER BY a.currency
"""
ENTRIES = """
    SELECT e.id, e.transaction_id, e.merchant_id, e.currency, e.account, e.type, e.delta, e.balance_after, e.version,
           e.created_at, t.source_type, t.source_id, t.step, c.oauth_client_id
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    LEFT JOIN ledger_transaction_applications c ON c.transaction_id = t.id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND ($3::text IS NULL OR e.currency = $3)
      AND ($4::text IS NULL OR e.account = $4) AND ($5::text IS NULL OR e.type = $5)
      AND ($6::text IS NULL OR t.source_type = $6) AND ($7::uuid IS NULL OR t.source_id = $7)
      AND e.created_at >= $8 AND (e.created_at, e.id) < ($9, $10)
    ORDER BY e.created_at DESC, e.id DESC LIMIT $11 OFFSET $12
"""
ENTRY = """
    SELECT e.id, e.transaction_id, e.merchant_id, e.currency, e.account, e.type, e.delta, e.balance_after, e.version,
           e.created_at, t.source_type, t.source_id, t.step, c.oauth_client_id
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    LEFT JOIN ledger_transaction_applications c ON c.transaction_id = t.id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.id = $3
"""
# Whoever is to be charged more than it may have is locked first: what it has then stays so until it is charged.
LOCK_AVAILABLE = """
    SELECT balance FROM ledger_accounts
    WHERE owner = $1 AND mode = $2 AND currency = $3 AND code = 'available' FOR NO KEY UPDATE
"""
ROOM = "SELECT ledger_room($1, $2, $3)"
INSERT_HOLD = """
    INSERT INTO ledger_holds (id, merchant_id, mode, currency, source_type, source_id, amount, status, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', $8)
"""
CAPTURE_HOLD = """
    UPDATE ledger_holds SET captured = captured + $4, moves = moves + 1,
        status = CASE WHEN captured + released + $4 = amount THEN 'resolved' ELSE 'active' END,
        resolved_at = CASE WHEN captured + released + $4 = amount THEN $5::timestamptz END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active' AND $4 > 0 AND captured + released + $4 <= amount
    RETURNING id, merchant_id, currency, source_type, source_id, amount, captured, released, moves
"""
RELEASE_HOLD = """
    UPDATE ledger_holds SET released = amount - captured, moves = moves + 1, status = 'resolved', resolved_at = $4
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active'
    RETURNING id, merchant_id, currency, source_type, source_id, amount, captured, released, moves
"""
# What is not captured now goes back: the hold is resolved, whatever the parts.
SETTLE_HOLD = """
    UPDATE ledger_holds SET captured = captured + $4, released = amount - captured - $4, moves = moves + 1,
        status = 'resolved', resolved_at = $5
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active' AND $4 > 0 AND captured + released + $4 <= amount
    RETURNING id, merchant_id, currency, source_type, source_id, amount, captured, released, moves
"""


class Balance(Struct, frozen=True):
    """What a merchant has in one currency. `version` rises with every entry."""

    currency: str
    available_minor: int = 0
    pending_minor: int = 0
    reserved_minor: int = 0
    debt_minor: int = 0
    version: int = 0
    updated_at: datetime | None = None
    held_for_withdrawals_minor: int = 0
    held_for_balance_payments_minor: int = 0
    held_for_refunds_minor: int = 0
    held_for_fulfillments_minor: int = 0

    @property
    def total_minor(self) -> int:
        """Everything that is the merchant's, less what it owes."""
        return self.available_minor + self.pending_minor + self.reserved_minor - self.debt_minor


class EntryFilter(Struct, frozen=True):
    """Which entries to list; None leaves a filter out."""

    currency: str | None = None
    account: str | None = None
    type: str | None = None
    source_type: str | None = None
    source_id: UUID | None = None


async def post(tx: Tx, posting: Posting) -> Posted:
    """Write a posting, in one round trip."""
    transaction_id, lines, source = new_id(), posting.lines, posting.source
    client_id = author.current().client_id
    rows = await tx.fetch(
        POST,
        transaction_id,
        posting.mode,
        posting.kind,
        source.type,
        source.id,
        source.step,
        posting.at,
        [line.type for line in lines],
        [line.currency for line in lines],
        [line.amount_minor for line in lines],
        [line.debit.merchant_id for line in lines],
        [line.debit.code for line in lines],
        [line.credit.merchant_id for line in lines],
        [line.credit.code for line in lines],
        spare_ids(lines),
        client_id,
    )
    return Posted(transaction_id, tuple(_entry(row, source, client_id) for row in rows))


async def balances(db: Pool | Tx, env: MerchantEnv, currency: str | None = None) -> list[Balance]:
    """The balances of a merchant, by currency, in one snapshot."""
    rows = await db.fetch(BALANCES, env.merchant_id, env.mode, currency)
    return [
        Balance(
            row["currency"],
            row["available"],
            row["pending"],
            row["reserved"],
            row["debt"],
            row["version"],
            row["updated_at"],
            row["held_for_withdrawals"],
            row["held_for_balance_payments"],
            row["held_for_refunds"],
            row["held_for_fulfillments"],
        )
        for row in rows
    ]


async def entries(db: Pool, env: MerchantEnv, wanted: EntryFilter, window: Window) -> list[Entry]:
    """A page of a merchant's entries, newest first."""
    which = (wanted.currency, wanted.account, wanted.type, wanted.source_type, wanted.source_id)
    rows = await db.fetch_fresh(ENTRIES, env.merchant_id, env.mode, *which, *msgspec.structs.astuple(window))
    return [_entry(row) for row in rows]


async def entry(db: Pool, env: MerchantEnv, entry_id: UUID) -> Entry | None:
    """One entry of this merchant."""
    row = await db.fetchrow(ENTRY, env.merchant_id, env.mode, entry_id)
    return None if row is None else _entry(row)


async def lock_available(tx: Tx, env: MerchantEnv, currency: str) -> int:
    """What the merchant can spend, which nobody changes until this transaction ends."""
    return await tx.fetchval(LOCK_AVAILABLE, env.merchant_id, env.mode, currency) or 0


async def room(tx: Tx, env: MerchantEnv, currency: str) -> int:
    """How much more the balance can hold, less what it owes; nobody makes it less until this transaction ends."""
    return await tx.fetchval(ROOM, env.merchant_id, env.mode, currency)


async def insert_hold(tx: Tx, hold: Hold, now: datetime) -> None:
    """Record a hold. Its source can have one, ever."""
    env, source = hold.env, hold.source
    values = (hold.currency, source.type, source.id, hold.amount_minor)
    await tx.execute(INSERT_HOLD, hold.id, env.merchant_id, env.mode, *values, now)


async def capture_hold(tx: Tx, env: MerchantEnv, hold_id: UUID, amount_minor: int, now: datetime) -> Hold | None:
    """Take from an active hold that still holds as much; None when it does not, or is not this merchant's."""
    row = await tx.fetchrow(CAPTURE_HOLD, env.merchant_id, env.mode, hold_id, amount_minor, now)
    return None if row is None else _hold(row, env)


async def settle_hold(tx: Tx, env: MerchantEnv, hold_id: UUID, amount_minor: int, now: datetime) -> Hold | None:
    """Resolve an active hold by taking so much and giving the rest back; None as for `capture_hold`."""
    row = await tx.fetchrow(SETTLE_HOLD, env.merchant_id, env.mode, hold_id, amount_minor, now)
    return None if row is None else _hold(row, env)


async def release_hold(tx: Tx, env: MerchantEnv, hold_id: UUID, now: datetime) -> Hold | None:
    """Resolve an active hold by giving the rest back; None when it is not active, or not this merchant's."""
    row = await tx.fetchrow(RELEASE_HOLD, env.merchant_id, env.mode, hold_id, now)
    return None if row is None else _hold(row, env)


def _entry(row: Row, source: Source | None = None, client_id: str | None = None) -> Entry:
    """`source` and `client_id` of a posting that was written just now; else they are in the row."""
    return Entry(
        row["id"],
        row["transaction_id"],
        MerchantId(row["merchant_id"]),
        row["currency"],
        row["account"],
        row["type"],
        row["delta"],
        row["balance_after"],
        row["version"],
        source or Source(row["source_type"], row["source_id"], row["step"]),
        row["created_at"],
        client_id if source else row["oauth_client_id"],
    )


def _hold(row: Row, env: MerchantEnv) -> Hold:
    return Hold(
        row["id"],
        MerchantEnv(MerchantId(row["merchant_id"]), env.mode),
        row["currency"],
        Source(row["source_type"], row["source_id"], row["moves"]),
        row["amount"],
        row["captured"],
        row["released"],
    )
