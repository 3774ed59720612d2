"""Every SQL statement about postings, entries, balances and holds."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.ledger.books.model import (
    HOLD,
    EntryType,
    Hold,
    JournalEntry,
    LedgerEntry,
    LedgerTransaction,
    MerchantCode,
    PostedEntry,
    PostedTransaction,
    Source,
    expected_entries,
    new_entry_ids,
)
from tollhouse.platform.database.pool import Pool, Row, Tx

POST = """
    SELECT id, transaction_id, merchant_id, currency, account, type, delta, balance_after, version, created_at
    FROM ledger_post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""
POST_PLATFORM = "SELECT ledger_post_platform($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
RECORD_APPLICATION = """
    INSERT INTO ledger_transaction_applications (transaction_id, mode, oauth_client_id) VALUES ($1, $2, $3)
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
ENTRY_COLUMNS = """e.id, e.transaction_id, e.merchant_id, e.currency, e.account, e.type, e.delta, e.balance_after,
           e.version, e.created_at, t.source_type, t.source_id, t.step, c.oauth_client_id"""
ENTRIES = f"""
    SELECT {ENTRY_COLUMNS}
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    LEFT JOIN ledger_transaction_applications c ON c.transaction_id = t.id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND ($3::text IS NULL OR e.currency = $3)
      AND ($4::text IS NULL OR e.account = $4) AND ($5::text IS NULL OR e.type = $5)
      AND ($6::text IS NULL OR t.source_type = $6) AND ($7::uuid IS NULL OR t.source_id = $7)
      AND e.created_at >= $8 AND (e.created_at, e.id) < ($9, $10) AND ($13::bigint[] IS NULL OR e.account_id = ANY ($13))
    ORDER BY e.created_at DESC, e.id DESC LIMIT $11 OFFSET $12
"""
# The accounts of a currency ($3) or code ($4). With them, the entries of a rarely used one are found by its account.
ACCOUNTS = """
    SELECT id FROM ledger_accounts
    WHERE owner = $1 AND mode = $2 AND ($3::text IS NULL OR currency = $3) AND ($4::text IS NULL OR code = $4)
"""
ENTRY = f"""
    SELECT {ENTRY_COLUMNS}
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    LEFT JOIN ledger_transaction_applications c ON c.transaction_id = t.id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.id = $3
"""
# Read by postings: entries have no index by source.
CHANGES_BY_SOURCE = """
    SELECT t.created_at, p.type, p.currency, p.amount, a.code, a.id = p.credit_account_id AS credited
    FROM unnest($3::text[], $4::uuid[]) AS s (source_type, source_id)
    JOIN ledger_transactions t ON t.source_type = s.source_type AND t.source_id = s.source_id AND t.mode = $2
    JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.owner = $1 AND a.mode = $2
    ORDER BY t.created_at, t.id, p.line, a.id LIMIT $5
"""
# Locks the balance, so that it does not change before the merchant is charged.
LOCK_AVAILABLE = """
    SELECT balance FROM ledger_accounts
    WHERE owner = $1 AND mode = $2 AND currency = $3 AND code = 'available' FOR NO KEY UPDATE
"""
GET_DEBT = """
    SELECT balance FROM ledger_accounts WHERE owner = $1 AND mode = $2 AND currency = $3 AND code = 'debt'
"""
LOCK_HEADROOM = "SELECT ledger_room($1, $2, $3)"
INSERT_HOLD = """
    INSERT INTO ledger_holds (id, merchant_id, mode, currency, source_type, source_id, amount, status, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', $8)
"""
CAPTURE_HOLD = f"""
    UPDATE ledger_holds SET captured = captured + $4, moves = moves + 1,
        status = CASE WHEN captured + released + $4 = amount THEN 'resolved' ELSE 'active' END,
        resolved_at = CASE WHEN captured + released + $4 = amount THEN $5::timestamptz END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active' AND $4 > 0 AND captured + released + $4 <= amount
    RETURNING {HOLD.columns}
"""
RELEASE_HOLD = f"""
    UPDATE ledger_holds SET released = amount - captured, moves = moves + 1, status = 'resolved', resolved_at = $4
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active'
    RETURNING {HOLD.columns}
"""
# Captures an amount and releases the rest.
SETTLE_HOLD = f"""
    UPDATE ledger_holds SET captured = captured + $4, released = amount - captured - $4, moves = moves + 1,
        status = 'resolved', resolved_at = $5
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active' AND $4 > 0 AND captured + released + $4 <= amount
    RETURNING {HOLD.columns}
"""


class Balance(Struct, frozen=True):
    """The balance of a merchant in one currency. `version` rises with every entry."""

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
        """Available, pending and reserved, less the debt."""
        return self.available_minor + self.pending_minor + self.reserved_minor - self.debt_minor


class AccountChange(Struct, frozen=True):
    """One change of an account of the merchant, signed in the account's own terms."""

    created_at: datetime
    type: EntryType
    account: MerchantCode
    currency: str
    delta_minor: int


class EntryFilter(Struct, frozen=True):
    """Which entries to list; None matches all."""

    currency: str | None = None
    account: str | None = None
    type: str | None = None
    source_type: str | None = None
    source_id: UUID | None = None


async def post(tx: Tx, journal_entry: JournalEntry, client_id: str | None, now: datetime) -> LedgerTransaction:
    """Write a journal entry, requested by this application if any."""
    transaction_id, entry_ids = new_id(), new_entry_ids(journal_entry.postings)

    def read(row: Row) -> PostedEntry:
        return _entry(row, journal_entry.source, client_id)

    entries = await tx.write_rows(
        POST,
        *_values(transaction_id, journal_entry, entry_ids, now),
        read=read,
        expected=expected_entries(transaction_id, journal_entry, entry_ids, client_id),
    )
    await _record_application(tx, transaction_id, journal_entry, client_id)
    return LedgerTransaction(transaction_id, tuple(entries))


async def post_now(tx: Tx, journal_entry: JournalEntry, client_id: str | None, now: datetime) -> PostedTransaction:
    """Write a journal entry at once; with the balances after it."""
    transaction_id = new_id()
    rows = await tx.fetch(POST, *_values(transaction_id, journal_entry, new_entry_ids(journal_entry.postings), now))
    await _record_application(tx, transaction_id, journal_entry, client_id)
    return PostedTransaction(transaction_id, tuple(_entry(row, journal_entry.source, client_id) for row in rows))


async def _record_application(tx: Tx, transaction_id: UUID, journal_entry: JournalEntry, client_id: str | None) -> None:
    if client_id is not None:
        await tx.write(RECORD_APPLICATION, transaction_id, journal_entry.mode, client_id)


async def post_platform(tx: Tx, journal_entries: Sequence[JournalEntry], now: datetime) -> None:
    """Write journal entries of one mode between accounts of the platform, in one round trip."""
    mode = journal_entries[0].mode
    numbered = [
        (nth, line, posting)
        for nth, entry in enumerate(journal_entries, 1)
        for line, posting in enumerate(entry.postings, 1)
    ]
    if any(entry.mode != mode for entry in journal_entries):
        raise ValueError("all journal entries are of one mode")
    if any(account.merchant_id is not None for *_, posting in numbered for account in (posting.debit, posting.credit)):
        raise ValueError("all accounts are the platform's")
    await tx.execute(
        POST_PLATFORM,
        mode,
        now,
        [new_id() for _ in journal_entries],
        [entry.kind for entry in journal_entries],
        [entry.source.type for entry in journal_entries],
        [entry.source.id for entry in journal_entries],
        [entry.source.step for entry in journal_entries],
        [nth for nth, _, _ in numbered],
        [line for _, line, _ in numbered],
        [posting.type for *_, posting in numbered],
        [posting.currency for *_, posting in numbered],
        [posting.amount_minor for *_, posting in numbered],
        [posting.debit.code for *_, posting in numbered],
        [posting.credit.code for *_, posting in numbered],
    )


def _values(transaction_id: UUID, journal_entry: JournalEntry, entry_ids: list[UUID], now: datetime) -> tuple[object, ...]:
    """The parameters of `ledger_post`."""
    postings, source = journal_entry.postings, journal_entry.source
    return (
        transaction_id,
        journal_entry.mode,
        journal_entry.kind,
        source.type,
        source.id,
        source.step,
        now,
        [posting.type for posting in postings],
        [posting.currency for posting in postings],
        [posting.amount_minor for posting in postings],
        [posting.debit.merchant_id for posting in postings],
        [posting.debit.code for posting in postings],
        [posting.credit.merchant_id for posting in postings],
        [posting.credit.code for posting in postings],
        entry_ids,
    )


async def list_balances(db: Pool | Tx, env: MerchantEnv, currency: str | None = None) -> list[Balance]:
    """The balances of a merchant in every currency with entries, in one snapshot."""
    rows = await db.read(BALANCES, env.merchant_id, env.mode, currency)
    return [Balance(*row.values()) for row in rows]


async def get_balance(db: Pool | Tx, env: MerchantEnv, currency: str) -> Balance:
    """The balance of a merchant in one currency; zero without entries."""
    found = await list_balances(db, env, currency)
    return found[0] if found else Balance(currency)


async def list_entries(db: Pool, env: MerchantEnv, entry_filter: EntryFilter, window: Window) -> list[LedgerEntry]:
    """A page of a merchant's entries, newest first."""
    values, accounts = (*msgspec.structs.astuple(entry_filter), *msgspec.structs.astuple(window)), None
    if entry_filter.currency is not None or entry_filter.account is not None:
        found = await db.fetch(ACCOUNTS, env.merchant_id, env.mode, entry_filter.currency, entry_filter.account)
        accounts = [row["id"] for row in found]
    rows = await db.fetch_custom_plan(ENTRIES, env.merchant_id, env.mode, *values, accounts)
    return [_entry(row) for row in rows]


async def get_entry(db: Pool, env: MerchantEnv, entry_id: UUID) -> LedgerEntry | None:
    """An entry of this merchant; None if there is none."""
    row = await db.fetchrow(ENTRY, env.merchant_id, env.mode, entry_id)
    return None if row is None else _entry(row)


async def list_changes_by_source(
    db: Pool, env: MerchantEnv, sources: Sequence[tuple[str, UUID]], limit: int
) -> list[AccountChange]:
    """What these objects (type and id) changed on this merchant's accounts, oldest first."""
    types, ids = [name for name, _ in sources], [source_id for _, source_id in sources]
    return [
        AccountChange(
            row["created_at"],
            row["type"],
            row["code"],
            row["currency"],
            row["amount"] if row["credited"] != (row["code"] == "debt") else -row["amount"],
        )
        for row in await db.fetch(CHANGES_BY_SOURCE, env.merchant_id, env.mode, types, ids, limit)
    ]


async def get_debt(tx: Tx, env: MerchantEnv, currency: str) -> int:
    """The debt in a currency, in minor units."""
    return await tx.fetchval(GET_DEBT, env.merchant_id, env.mode, currency) or 0


async def lock_available(tx: Tx, env: MerchantEnv, currency: str) -> int:
    """Lock and return the available balance in minor units."""
    return await tx.fetchval(LOCK_AVAILABLE, env.merchant_id, env.mode, currency) or 0


async def lock_headroom(tx: Tx, env: MerchantEnv, currency: str) -> int | None:
    """Lock the balance; return by how many minor units it may grow, debt included. None: the constraint knows."""
    return await tx.fetch_bound(LOCK_HEADROOM, env.merchant_id, env.mode, currency)


async def insert_hold(tx: Tx, hold: Hold, now: datetime) -> None:
    """Insert a hold. Its source can have one."""
    env, source = hold.env, hold.source
    values = (hold.currency, source.type, source.id, hold.amount_minor)
    await tx.write(INSERT_HOLD, hold.id, env.merchant_id, env.mode, *values, now)


async def capture_hold(tx: Tx, env: MerchantEnv, hold_id: UUID, amount_minor: int, now: datetime) -> Hold | None:
    """Capture from an active hold of this merchant that holds as much; None if there is none."""
    return await HOLD.find(tx, CAPTURE_HOLD, env.merchant_id, env.mode, hold_id, amount_minor, now)


async def settle_hold(tx: Tx, env: MerchantEnv, hold_id: UUID, amount_minor: int, now: datetime) -> Hold | None:
    """Resolve an active hold: capture this amount, release the rest; None as for `capture_hold`."""
    return await HOLD.find(tx, SETTLE_HOLD, env.merchant_id, env.mode, hold_id, amount_minor, now)


async def release_hold(tx: Tx, env: MerchantEnv, hold_id: UUID, now: datetime) -> Hold | None:
    """Resolve an active hold: release what it holds; None as for `capture_hold`."""
    return await HOLD.find(tx, RELEASE_HOLD, env.merchant_id, env.mode, hold_id, now)


def _entry(row: Row, source: Source | None = None, client_id: str | None = None) -> LedgerEntry:
    """`source` and `client_id` are given for a new entry; otherwise the row has them."""
    return LedgerEntry(
        row["id"],
        row["transaction_id"],
        MerchantId(row["merchant_id"]),
        row["currency"],
        row["account"],
        row["type"],
        row["delta"],
        source or Source(row["source_type"], row["source_id"], row["step"]),
        client_id if source else row["oauth_client_id"],
        row["balance_after"],
        row["version"],
        row["created_at"],
    )
