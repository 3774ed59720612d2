"""Payouts in bitcoin and their batches, as they are stored: each batch is one transaction with its replacements."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.batches.model import OrderKind
from tollhouse.rails.batches.store import TRANSFER_COLUMNS, list_shown
from tollhouse.transfers.gate.model import OUTGOING_TRANSFER, OutgoingTransfer

BitcoinPayoutStatus = Literal["waiting", "batched", "completed", "failed"]
BatchStatus = Literal["requested", "drafted", "signed", "broadcast", "confirmed", "canceled"]
"""`requested`: the worker makes the draft. `drafted`: it can be exported and signed. `signed`: the bytes are stored.
`broadcast`: a node has them. `confirmed`: final. A `canceled` one is confirmed if it was signed and sent by others."""


class BitcoinPayout(Struct, frozen=True, kw_only=True):
    """An order. `txid` and `fee_minor`, its share of the network fee, are of the transaction that paid it."""

    id: UUID
    kind: OrderKind
    rail: str
    mode: Mode
    currency: str
    address: str
    amount_minor: int
    status: BitcoinPayoutStatus = "waiting"
    txid: str | None = None
    fee_minor: int | None = None


class BitcoinBatch(Struct, frozen=True, kw_only=True):
    """A batch. `wanted_rate` is in satoshis per 1000 virtual bytes.

    `conflict_height` is the height at which a coin was first found to be spent by another transaction; at `void_at` that
    was final. `txid` is that of the final transaction, of whose fee no withdrawal pays `expensed_fee_minor`.
    """

    id: UUID
    rail: str
    mode: Mode
    status: BatchStatus
    is_draft_due: bool
    wanted_rate: int | None
    change_index: int | None
    txid: str | None
    confirmations: int
    expensed_fee_minor: int | None
    conflict_height: int | None
    void_at: datetime | None
    reason: str | None
    created_at: datetime
    updated_at: datetime


class BatchTransaction(Struct, frozen=True):
    """A draft of a batch, and its signed form if it was imported. Those with a higher number replace the ones before."""

    number: int
    txid: str
    psbt: str
    rate: int
    fee_minor: int
    change_minor: int
    drafted_at: datetime
    raw: bytes | None
    signed_at: datetime | None
    sent_at: datetime | None


class KnownCoin(Struct, frozen=True):
    """An output of the account in the chain: a deposit (chain 0) or change (chain 1)."""

    txid: str
    vout: int
    amount_minor: int
    chain: Literal[0, 1]
    derivation_index: int

    @property
    def outpoint(self) -> tuple[str, int]:
        """What identifies the coin."""
        return self.txid, self.vout


class Obligation(Struct, frozen=True):
    """A canceled batch of which a coin must be spent, so that its transactions can never pay the same orders as well."""

    batch_id: UUID
    outpoints: frozenset[tuple[str, int]]


class WaitingPayout(Struct, frozen=True, kw_only=True):
    """A payout that has not ended, for operators. The amount is as people write it."""

    id: UUID
    rail: str
    kind: OrderKind
    status: BitcoinPayoutStatus
    amount: str
    currency: str
    address: str
    merchant_id: MerchantId
    business_name: str
    batch_id: UUID | None
    created_at: Timestamp


class BatchSummary(Struct, frozen=True, kw_only=True):
    """A batch for operators. Amounts are as people write them; fee and transaction are those of the newest draft."""

    id: UUID
    rail: str
    status: BatchStatus
    payouts: int
    amount: str
    currency: str
    fee: str | None
    txid: str | None
    confirmations: int
    drafts: int
    is_signed: bool
    is_draft_due: bool
    is_void: bool
    reason: str | None
    created_at: Timestamp

    @property
    def is_open(self) -> bool:
        """Whether it has drafts that can be signed and replaced."""
        return self.status in {"drafted", "signed", "broadcast"}

    @property
    def is_cancelable(self) -> bool:
        """Whether nothing of it can be sent, as far as is known."""
        return self.status == "requested" or (self.is_open and (self.is_void or not self.is_signed))


PAYOUT = Record(BitcoinPayout, "bitcoin_payouts")
COLUMNS = PAYOUT.columns_of("p")
INSERT = """
    INSERT INTO bitcoin_payouts (id, kind, rail, mode, currency, address, amount_minor, status, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, $8) ON CONFLICT (id) DO NOTHING
"""
GET = f"SELECT {COLUMNS} FROM bitcoin_payouts p WHERE p.id = $1"
LOCK = f"{GET} FOR NO KEY UPDATE"
WAITING = f"""
    SELECT {TRANSFER_COLUMNS} FROM outgoing_transfers o JOIN bitcoin_payouts p ON p.id = o.id
    WHERE p.rail = $1 AND p.mode = $2 AND p.status = 'waiting' AND o.closed_at IS NULL
"""
# Rows are locked in the order of their IDs, as bank exports do.
LOCK_WAITING = f"{WAITING} AND p.id = ANY ($3::uuid[]) ORDER BY o.id FOR NO KEY UPDATE OF o, p"
LIST_WAITING = f"{WAITING} ORDER BY p.created_at, p.id LIMIT $3"
LIST_OPEN = """
    SELECT p.id, p.rail, p.kind, p.status, p.amount_minor, p.currency, p.address, o.merchant_id, m.business_name, b.batch_id,
           p.created_at
    FROM bitcoin_payouts p
    JOIN outgoing_transfers o ON o.id = p.id JOIN merchants m ON m.id = o.merchant_id
    LEFT JOIN bitcoin_batch_payouts b ON b.payout_id = p.id AND b.released_at IS NULL
    WHERE p.status IN ('waiting', 'batched') ORDER BY p.created_at, p.id LIMIT $1
"""
# In the order of the outputs.
OF_BATCH = f"""
    SELECT {COLUMNS} FROM bitcoin_batch_payouts b JOIN bitcoin_payouts p ON p.id = b.payout_id
    WHERE b.batch_id = $1 ORDER BY b.number
"""
LOCK_OF_BATCH = """
    SELECT p.id FROM bitcoin_batch_payouts b JOIN bitcoin_payouts p ON p.id = b.payout_id
    WHERE b.batch_id = $1 ORDER BY p.id FOR NO KEY UPDATE OF p
"""
SUSPENDED_IN = """
    SELECT o.id FROM bitcoin_batch_payouts b JOIN outgoing_transfers o ON o.id = b.payout_id
    JOIN merchants m ON m.id = o.merchant_id
    WHERE b.batch_id = $1 AND m.suspended_at IS NOT NULL ORDER BY o.id
"""
# Locked against suspension until the transaction ends.
LOCK_MERCHANTS = """
    SELECT m.id FROM merchants m
    WHERE m.id IN (SELECT o.merchant_id FROM bitcoin_batch_payouts b JOIN outgoing_transfers o ON o.id = b.payout_id
                   WHERE b.batch_id = $1)
    ORDER BY m.id FOR SHARE
"""
BATCH = """
    UPDATE bitcoin_payouts SET status = 'batched', updated_at = $2 WHERE id = ANY ($1::uuid[]) AND status = 'waiting'
"""
RELEASE = """
    UPDATE bitcoin_payouts p SET status = 'waiting', updated_at = $2
    FROM bitcoin_batch_payouts b
    WHERE b.batch_id = $1 AND b.released_at IS NULL AND p.id = b.payout_id AND p.status = 'batched'
"""
COMPLETE = """
    UPDATE bitcoin_payouts SET status = 'completed', txid = $2, fee_minor = $3, updated_at = $4
    WHERE id = $1 AND status IN ('waiting', 'batched')
"""
FAIL = "UPDATE bitcoin_payouts SET status = 'failed', updated_at = $2 WHERE id = $1 AND status = 'waiting'"
SUM_WAITING = """
    SELECT count(*) AS payouts, coalesce(sum(amount_minor), 0)::bigint AS amount_minor
    FROM bitcoin_payouts WHERE rail = $1 AND mode = $2 AND status = 'waiting'
"""


async def insert(db: Pool | Tx, new: BitcoinPayout, now: datetime) -> None:
    """Insert an order that waits; one that is there already stays as it is."""
    await db.execute(INSERT, new.id, new.kind, new.rail, new.mode, new.currency, new.address, new.amount_minor, now)


async def get(db: Pool | Tx, payout_id: UUID) -> BitcoinPayout | None:
    """The payout of an order; None where it never came to its rail."""
    return await PAYOUT.find(db, GET, payout_id)


async def lock(tx: Tx, payout_id: UUID) -> BitcoinPayout | None:
    """The payout of an order, locked until the transaction ends."""
    return await PAYOUT.find(tx, LOCK, payout_id)


async def lock_waiting(tx: Tx, rail: str, mode: Mode, payout_ids: Sequence[UUID]) -> list[OutgoingTransfer]:
    """Lock those of these payouts that wait."""
    return await OUTGOING_TRANSFER.find_all(tx, LOCK_WAITING, rail, mode, list(payout_ids))


async def list_waiting(db: Pool | Tx, rail: str, mode: Mode, limit: int) -> list[OutgoingTransfer]:
    """The payouts that wait, oldest first, without a lock."""
    return await OUTGOING_TRANSFER.find_all(db, LIST_WAITING, rail, mode, limit)


async def list_open(db: Pool, catalogue: Catalogue, limit: int) -> list[WaitingPayout]:
    """Payouts that have not ended, oldest first."""
    return await list_shown(db, WaitingPayout, catalogue, LIST_OPEN, limit)


async def list_of_batch(db: Pool | Tx, batch_id: UUID) -> list[BitcoinPayout]:
    """The payouts of a batch, also of a canceled one, in the order of its outputs."""
    return await PAYOUT.find_all(db, OF_BATCH, batch_id)


async def lock_of_batch(tx: Tx, batch_id: UUID) -> list[BitcoinPayout]:
    """The payouts of a batch, locked, in the order of its outputs."""
    await tx.fetch(LOCK_OF_BATCH, batch_id)
    return await list_of_batch(tx, batch_id)


async def list_suspended(db: Pool | Tx, batch_id: UUID) -> list[UUID]:
    """The payouts of a batch whose merchant is suspended. The merchants are locked against it until the transaction ends."""
    await db.fetch(LOCK_MERCHANTS, batch_id)
    return [row["id"] for row in await db.fetch(SUSPENDED_IN, batch_id)]


async def put_in_batch(tx: Tx, payout_ids: Sequence[UUID], now: datetime) -> None:
    """Mark these payouts as batched, which wait and are locked."""
    await tx.execute(BATCH, list(payout_ids), now)


async def release(tx: Tx, batch_id: UUID, now: datetime) -> None:
    """Let the payouts of a batch wait again, unless they have ended. Before the batch releases them."""
    await tx.execute(RELEASE, batch_id, now)


async def complete(tx: Tx, payout_id: UUID, txid: str, fee_minor: int, now: datetime) -> bool:
    """Complete a payout. False if it has ended."""
    return await tx.execute(COMPLETE, payout_id, txid, fee_minor, now) == 1


async def fail(tx: Tx, payout_id: UUID, now: datetime) -> bool:
    """Fail a payout that waits. False if it does not."""
    return await tx.execute(FAIL, payout_id, now) == 1


async def sum_waiting(db: Pool, rail: str, mode: Mode) -> tuple[int, int]:
    """How many payouts wait, and their sum."""
    [row] = await db.fetch(SUM_WAITING, rail, mode)
    return row["payouts"], row["amount_minor"]
