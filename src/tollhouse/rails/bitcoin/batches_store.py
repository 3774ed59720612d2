"""SQL of batches of payouts in bitcoin: their drafts, payouts and coins."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.batches.store import read_shown
from tollhouse.rails.bitcoin.network.provider import CURRENCY
from tollhouse.rails.bitcoin.network.psbt import Draft, SignedTransaction
from tollhouse.rails.bitcoin.payouts_store import (
    BatchStatus,
    BatchSummary,
    BatchTransaction,
    BitcoinBatch,
    KnownCoin,
    Obligation,
)

BATCH = Record(BitcoinBatch, "bitcoin_batches")
COLUMNS = BATCH.columns_of("b")
INSERT = """
    INSERT INTO bitcoin_batches (id, rail, mode, status, is_draft_due, wanted_rate, created_at, updated_at, check_at)
    VALUES ($1, $2, $3, 'requested', true, $4, $5, $5, $5)
"""
ADD_PAYOUTS = """
    INSERT INTO bitcoin_batch_payouts (batch_id, payout_id, number)
    SELECT $1, n.payout_id, n.number FROM unnest($2::uuid[]) WITH ORDINALITY AS n (payout_id, number)
"""
GET = f"SELECT {COLUMNS} FROM bitcoin_batches b WHERE b.id = $1"
LOCK = f"{GET} FOR NO KEY UPDATE"
LEASE_DUE = f"""
    UPDATE bitcoin_batches b SET check_at = $3::timestamptz + $4::interval
    FROM (SELECT id FROM bitcoin_batches WHERE rail = $1 AND mode = $2 AND check_at <= $3
          ORDER BY check_at LIMIT $5 FOR NO KEY UPDATE SKIP LOCKED) due
    WHERE b.id = due.id
    RETURNING {COLUMNS}
"""
CHECK_LATER = """
    UPDATE bitcoin_batches SET check_at = $2, reason = $3,
        updated_at = CASE WHEN reason IS DISTINCT FROM $3 THEN $4 ELSE updated_at END
    WHERE id = $1 AND check_at IS NOT NULL
"""
TRANSACTIONS = """
    SELECT number, txid, psbt, rate, fee_minor, change_minor, drafted_at, raw, signed_at, sent_at FROM bitcoin_transactions
    WHERE batch_id = $1 ORDER BY number
"""
# Confirmed deposits, and the change of batches that are final, that no batch holds. The oldest first.
AVAILABLE = """
    SELECT c.txid, c.vout, c.amount_minor, c.chain, c.derivation_index FROM (
        SELECT o.txid, o.vout, o.amount_minor, 0 AS chain, d.derivation_index, o.created_at
        FROM bitcoin_outputs o
        JOIN deposit_addresses d ON (d.rail, d.mode, lower(d.address)) = (o.rail, o.mode, lower(o.address))
        WHERE o.rail = $1 AND o.mode = $2 AND o.status = 'confirmed'
        UNION ALL
        SELECT t.txid, (SELECT count(*) FROM bitcoin_batch_payouts p WHERE p.batch_id = b.id)::integer, t.change_minor, 1,
               b.change_index, t.drafted_at
        FROM bitcoin_batches b JOIN bitcoin_transactions t ON t.batch_id = b.id AND t.txid = b.txid
        WHERE b.rail = $1 AND b.mode = $2 AND b.status = 'confirmed' AND b.confirmations > 0 AND t.change_minor > 0) c
    WHERE NOT EXISTS (SELECT FROM bitcoin_batch_coins h
                      WHERE (h.rail, h.mode, h.txid, h.vout) = ($1, $2, c.txid, c.vout) AND h.released_at IS NULL)
"""
LIST_AVAILABLE = f"{AVAILABLE} ORDER BY c.created_at, c.txid, c.vout"
SUM_AVAILABLE = f"SELECT coalesce(sum(a.amount_minor), 0)::bigint AS amount_minor FROM ({AVAILABLE}) a"
COINS = """
    SELECT txid, vout, amount_minor, chain, derivation_index FROM bitcoin_batch_coins WHERE batch_id = $1 ORDER BY number
"""
# Canceled batches whose drafts may have been signed, of the payouts of this batch, and their coins.
OBLIGATIONS = """
    SELECT c.batch_id, c.txid, c.vout FROM bitcoin_batch_coins c
    WHERE c.batch_id IN (
        SELECT old.batch_id FROM bitcoin_batch_payouts mine
        JOIN bitcoin_batch_payouts old ON old.payout_id = mine.payout_id AND old.batch_id <> mine.batch_id
        JOIN bitcoin_batches b ON b.id = old.batch_id AND b.status = 'canceled' AND b.void_at IS NULL
        WHERE mine.batch_id = $1)
    ORDER BY c.batch_id, c.amount_minor DESC, c.number
"""
MAY_HAVE_LEFT = """
    SELECT EXISTS (SELECT FROM bitcoin_batch_payouts l
                   JOIN bitcoin_batches b ON b.id = l.batch_id AND b.void_at IS NULL
                   JOIN bitcoin_transactions t ON t.batch_id = b.id
                   WHERE l.payout_id = $1) AS may_have_left
"""
NEXT_CHANGE_INDEX = "SELECT coalesce(max(change_index) + 1, 0) AS next FROM bitcoin_batches WHERE rail = $1 AND mode = $2"
ADD_COINS = """
    INSERT INTO bitcoin_batch_coins (batch_id, number, rail, mode, txid, vout, amount_minor, chain, derivation_index)
    SELECT $1, c.number, $2, $3, c.txid, c.vout, c.amount_minor, c.chain, c.derivation_index
    FROM unnest($4::text[], $5::integer[], $6::bigint[], $7::smallint[], $8::bigint[]) WITH ORDINALITY
         AS c (txid, vout, amount_minor, chain, derivation_index, number)
"""
ADD_TRANSACTION = """
    INSERT INTO bitcoin_transactions (batch_id, number, rail, mode, txid, psbt, fee_minor, change_minor, rate, drafted_at)
    SELECT $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9 FROM bitcoin_transactions WHERE batch_id = $1
"""
DRAFTED = """
    UPDATE bitcoin_batches SET status = CASE status WHEN 'requested' THEN 'drafted' ELSE status END, is_draft_due = false,
        wanted_rate = NULL, change_index = $2, reason = NULL, updated_at = $3
    WHERE id = $1 AND is_draft_due
"""
REQUEST_DRAFT = """
    UPDATE bitcoin_batches SET is_draft_due = true, wanted_rate = $2, reason = NULL, updated_at = $3, check_at = $3
    WHERE id = $1 AND status IN ('drafted', 'signed', 'broadcast')
"""
SIGN = """
    UPDATE bitcoin_transactions SET raw = $3, signed_at = $4 WHERE batch_id = $1 AND txid = $2 AND raw IS NULL
"""
ADVANCE = """
    UPDATE bitcoin_batches SET status = $2, reason = NULL, updated_at = $3, check_at = $3
    WHERE id = $1 AND status = ANY ($4::text[])
"""
SENT = "UPDATE bitcoin_transactions SET sent_at = $3 WHERE batch_id = $1 AND txid = $2 AND raw IS NOT NULL"
RECORD_CONFIRMATIONS = """
    UPDATE bitcoin_batches SET confirmations = $2, conflict_height = NULL,
        updated_at = CASE WHEN confirmations = $2 THEN updated_at ELSE $3 END
    WHERE id = $1
"""
RECORD_CONFLICT = """
    UPDATE bitcoin_batches SET conflict_height = $2, void_at = $3, confirmations = 0 WHERE id = $1 AND status <> 'confirmed'
"""
CONFIRM = """
    UPDATE bitcoin_batches
    SET status = 'confirmed', txid = $2, confirmations = $3, expensed_fee_minor = $4, is_draft_due = false, reason = NULL,
        conflict_height = NULL, updated_at = $5
    WHERE id = $1 AND status IN ('drafted', 'signed', 'broadcast', 'canceled')
"""
END_WATCH = "UPDATE bitcoin_batches SET check_at = NULL WHERE id = $1"
CANCEL = """
    UPDATE bitcoin_batches SET status = 'canceled', is_draft_due = false, updated_at = $2,
        check_at = CASE WHEN change_index IS NULL OR void_at IS NOT NULL THEN NULL ELSE check_at END
    WHERE id = $1 AND status IN ('requested', 'drafted', 'signed', 'broadcast')
"""
RELEASE_PAYOUTS = "UPDATE bitcoin_batch_payouts SET released_at = $2 WHERE batch_id = $1 AND released_at IS NULL"
RELEASE_COINS = "UPDATE bitcoin_batch_coins SET released_at = $2 WHERE batch_id = $1 AND released_at IS NULL"
# All open ones, then the newest others.
SUMMARIES = """
    SELECT b.id, b.rail, b.status, n.payouts, n.amount_minor, t.fee_minor, coalesce(b.txid, t.txid) AS txid, b.confirmations,
           coalesce(t.number, 0) AS drafts,
           EXISTS (SELECT FROM bitcoin_transactions s WHERE s.batch_id = b.id AND s.raw IS NOT NULL) AS is_signed,
           b.is_draft_due, b.void_at IS NOT NULL AS is_void,
           b.reason, b.created_at
    FROM bitcoin_batches b
    CROSS JOIN LATERAL (SELECT count(*) AS payouts, coalesce(sum(p.amount_minor), 0)::bigint AS amount_minor
                        FROM bitcoin_batch_payouts l JOIN bitcoin_payouts p ON p.id = l.payout_id WHERE l.batch_id = b.id) n
    LEFT JOIN LATERAL (SELECT * FROM bitcoin_transactions t
                       WHERE t.batch_id = b.id AND (b.txid IS NULL OR t.txid = b.txid)
                       ORDER BY t.number DESC LIMIT 1) t ON true
    WHERE $1::uuid IS NULL OR b.id = $1
    ORDER BY b.status IN ('confirmed', 'canceled'), b.created_at DESC, b.id LIMIT $2
"""
# Each payout that is completed was paid by a transaction of its batch that is in a block, and by one only.
I34_CONFIRMED = """
    SELECT format('batch %s was completed, and its transaction %s is in no block', b.id, b.txid) AS line
    FROM bitcoin_batches b WHERE b.status = 'confirmed' AND b.confirmations = 0
"""
I34_PAID = """
    SELECT format('payout %s is %s with transaction %s, and is paid by %s final batches', p.id, p.status, p.txid,
                  count(b.id)) AS line
    FROM bitcoin_payouts p
    LEFT JOIN bitcoin_batch_payouts l ON l.payout_id = p.id
    LEFT JOIN bitcoin_batches b ON b.id = l.batch_id AND b.status = 'confirmed'
    GROUP BY p.id HAVING count(b.id) <> CASE p.status WHEN 'completed' THEN 1 ELSE 0 END
                         OR coalesce(bool_or(b.txid <> p.txid), false)
"""
I34_FEES = """
    SELECT format('batch %s paid a fee of %s; its payouts and the platform have %s', b.id, t.fee_minor,
                  b.expensed_fee_minor + n.shared_minor) AS line
    FROM bitcoin_batches b JOIN bitcoin_transactions t ON t.batch_id = b.id AND t.txid = b.txid
    CROSS JOIN LATERAL (SELECT coalesce(sum(p.fee_minor) FILTER (WHERE p.kind = 'withdrawal'), 0) AS shared_minor
                        FROM bitcoin_batch_payouts l JOIN bitcoin_payouts p ON p.id = l.payout_id
                        WHERE l.batch_id = b.id AND p.txid = b.txid) n
    WHERE b.status = 'confirmed' AND b.expensed_fee_minor + n.shared_minor <> t.fee_minor
"""

INVARIANTS = (
    Invariant("I34", "the transaction of a completed batch is in a block", I34_CONFIRMED),
    Invariant("I34", "a payout in bitcoin is paid once", I34_PAID, costly=True),
    Invariant("I34", "the fee of a batch is shared", I34_FEES, costly=True),
)


async def insert(
    tx: Tx, batch_id: UUID, rail: str, mode: Mode, payout_ids: Sequence[UUID], rate: int | None, now: datetime
) -> None:
    """Insert a batch of these payouts, in this order. Raises `asyncpg.UniqueViolationError` if one is in another batch."""
    await tx.execute(INSERT, batch_id, rail, mode, rate, now)
    await tx.execute(ADD_PAYOUTS, batch_id, list(payout_ids))


async def get(db: Pool | Tx, batch_id: UUID) -> BitcoinBatch | None:
    """A batch."""
    return await BATCH.find(db, GET, batch_id)


async def lock(tx: Tx, batch_id: UUID) -> BitcoinBatch | None:
    """A batch, locked until the transaction ends."""
    return await BATCH.find(tx, LOCK, batch_id)


async def lease_due(db: Pool, rail: str, mode: Mode, now: datetime, lease: timedelta, limit: int) -> list[BitcoinBatch]:
    """Batches of a rail that are due to be drafted, sent or looked up, leased to this caller."""
    return await BATCH.find_all(db, LEASE_DUE, rail, mode, now, lease, limit)


async def check_later(db: Pool | Tx, batch_id: UUID, at: datetime, reason: str | None, now: datetime) -> None:
    """Look at a batch again at this time, and say why it waits."""
    await db.execute(CHECK_LATER, batch_id, at, reason, now)


async def list_transactions(db: Pool | Tx, batch_id: UUID) -> list[BatchTransaction]:
    """The drafts of a batch, oldest first."""
    return [BatchTransaction(**dict(row)) for row in await db.fetch(TRANSACTIONS, batch_id)]


async def list_available(db: Pool, rail: str, mode: Mode) -> list[KnownCoin]:
    """Coins that no batch holds, oldest first."""
    return [KnownCoin(**dict(row)) for row in await db.fetch(LIST_AVAILABLE, rail, mode)]


async def sum_available(db: Pool, rail: str, mode: Mode) -> int:
    """What the coins that no batch holds are worth."""
    [row] = await db.fetch(SUM_AVAILABLE, rail, mode)
    return row["amount_minor"]


async def list_coins(db: Pool | Tx, batch_id: UUID) -> list[KnownCoin]:
    """The coins of a batch, also of a canceled one, in the order of its inputs."""
    return [KnownCoin(**dict(row)) for row in await db.fetch(COINS, batch_id)]


async def list_obligations(db: Pool | Tx, batch_id: UUID) -> list[Obligation]:
    """The canceled batches of which the drafts of this batch must spend a coin."""
    found: dict[UUID, set[tuple[str, int]]] = {}
    for row in await db.fetch(OBLIGATIONS, batch_id):
        found.setdefault(row["batch_id"], set()).add((row["txid"], row["vout"]))
    return [Obligation(old, frozenset(outpoints)) for old, outpoints in found.items()]


async def may_have_left(tx: Tx, payout_id: UUID) -> bool:
    """Whether a draft that pays this payout was exported and can still be in a block."""
    return await tx.fetchval(MAY_HAVE_LEFT, payout_id)


async def next_change_index(db: Pool | Tx, rail: str, mode: Mode) -> int:
    """The index of the next change address."""
    row = await db.fetchrow(NEXT_CHANGE_INDEX, rail, mode)
    return 0 if row is None else row["next"]


async def add_draft(tx: Tx, batch: BitcoinBatch, draft: Draft, rate: int, change_index: int, now: datetime) -> None:
    """Store a draft of a locked batch; the first one holds its coins.

    Raises `asyncpg.UniqueViolationError` if another batch has a coin, the index of the change, or this transaction.
    """
    if batch.change_index is None:
        rows = [(coin.txid, coin.vout, coin.amount_minor, coin.chain, coin.index) for coin in draft.coins]
        columns = zip(*rows, strict=True)
        await tx.execute(ADD_COINS, batch.id, batch.rail, batch.mode, *columns)
    what = (draft.txid, draft.psbt, draft.fee_minor, draft.change_minor, rate)
    await tx.execute(ADD_TRANSACTION, batch.id, batch.rail, batch.mode, *what, now)
    await tx.execute(DRAFTED, batch.id, change_index, now)


async def request_draft(tx: Tx, batch_id: UUID, rate: int | None, now: datetime) -> None:
    """Have the worker make a replacement in a batch that is locked and has a draft."""
    await tx.execute(REQUEST_DRAFT, batch_id, rate, now)


async def add_signed(tx: Tx, batch_id: UUID, signed: SignedTransaction, now: datetime) -> bool:
    """Store the signed form of a draft. False if there is one."""
    return await tx.execute(SIGN, batch_id, signed.txid, signed.raw, now) == 1


async def advance(tx: Tx, batch_id: UUID, status: BatchStatus, before: Sequence[BatchStatus], now: datetime) -> bool:
    """Give a batch its next status. False if it has none of those before."""
    return await tx.execute(ADVANCE, batch_id, status, now, list(before)) == 1


async def record_sent(tx: Tx, batch_id: UUID, txid: str, now: datetime) -> None:
    """Record that a node has this transaction."""
    await tx.execute(SENT, batch_id, txid, now)


async def record_confirmations(db: Pool | Tx, batch_id: UUID, confirmations: int, now: datetime) -> None:
    """Record how many confirmations a transaction of the batch has."""
    await db.execute(RECORD_CONFIRMATIONS, batch_id, confirmations, now)


async def record_conflict(db: Pool | Tx, batch_id: UUID, height: int | None, void_at: datetime | None) -> None:
    """Record since which height a coin of the batch is spent otherwise, if it is, and when that was found to be final."""
    await db.execute(RECORD_CONFLICT, batch_id, height, void_at)


async def confirm(tx: Tx, batch_id: UUID, txid: str, confirmations: int, expensed_fee_minor: int, now: datetime) -> bool:
    """Record that a transaction of the batch is final. False if one was before."""
    return await tx.execute(CONFIRM, batch_id, txid, confirmations, expensed_fee_minor, now) == 1


async def end_watch(db: Pool | Tx, batch_id: UUID) -> None:
    """Look at a batch no more."""
    await db.execute(END_WATCH, batch_id)


async def cancel(tx: Tx, batch_id: UUID, now: datetime) -> None:
    """Cancel a locked batch and release its payouts and coins."""
    await tx.execute(CANCEL, batch_id, now)
    await tx.execute(RELEASE_PAYOUTS, batch_id, now)
    await tx.execute(RELEASE_COINS, batch_id, now)


async def list_summaries(db: Pool, catalogue: Catalogue, limit: int, batch_id: UUID | None = None) -> list[BatchSummary]:
    """The batches for operators, or the one of this ID: those that have not ended first, the newest first."""

    def fee(row: Row) -> str | None:
        return None if row["fee_minor"] is None else catalogue.format_amount(row["fee_minor"], CURRENCY)

    rows = await db.fetch(SUMMARIES, batch_id, limit)
    return [read_shown(BatchSummary, row, catalogue, currency=CURRENCY, fee=fee(row)) for row in rows]
