"""SQL of Bitcoin outputs to deposit addresses, and of what the ledger has of a rail."""

from collections.abc import Set as AbstractSet
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bitcoin.network.node import WalletCoin
from tollhouse.rails.bitcoin.network.transfers import DepositOutput, Outpoint
from tollhouse.rails.chains import store

# Those of the listed transactions and addresses, those that can still vanish, be reversed or come back, and others at the
# addresses of what waits.
LIST_OUTPUTS = """
    SELECT txid, vout, address, amount_minor, status, confirmations, version FROM bitcoin_outputs
    WHERE rail = $1 AND mode = $2 AND txid = ANY ($3::text[])
    UNION
    SELECT txid, vout, address, amount_minor, status, confirmations, version FROM bitcoin_outputs
    WHERE rail = $1 AND mode = $2 AND address = ANY ($4::text[] || ARRAY(
        SELECT address FROM bitcoin_outputs WHERE rail = $1 AND mode = $2 AND status = 'seen'))
    UNION
    SELECT txid, vout, address, amount_minor, status, confirmations, version FROM bitcoin_outputs
    WHERE rail = $1 AND mode = $2
      AND (status IN ('seen', 'reversed') OR (status = 'confirmed' AND confirmations < 100))
"""
INSERT = """
    INSERT INTO bitcoin_outputs (rail, mode, txid, vout, address, amount_minor, status, confirmations, version, created_at,
                                 updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
    ON CONFLICT (rail, mode, txid, vout) DO NOTHING
"""
# A compare-and-set on the version.
UPDATE = """
    UPDATE bitcoin_outputs SET status = $5, confirmations = $6, version = $7, updated_at = $8
    WHERE rail = $1 AND mode = $2 AND txid = $3 AND vout = $4 AND version = $7 - 1
"""
# Batches that are looked up, and final ones with payouts that the ledger does not have yet. A payout that ended otherwise is
# none of the batch's. The fee of a withdrawal is posted with it, the rest of the fee when the batch is confirmed.
BATCHES = """
    SELECT b.id, b.check_at IS NOT NULL AS is_watched, b.txid, n.amount_minor, n.posted_minor,
           n.posted_fee_minor + coalesce(b.expensed_fee_minor, 0) AS posted_fee_minor
    FROM bitcoin_batches b
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.amount_minor), 0)::bigint AS amount_minor,
               coalesce(sum(o.amount_minor) FILTER (WHERE o.is_posted), 0)::bigint AS posted_minor,
               coalesce(sum(o.fee_minor) FILTER (WHERE o.is_posted AND o.kind = 'withdrawal'), 0)::bigint AS posted_fee_minor
        FROM (SELECT p.kind, p.amount_minor, p.fee_minor,
                     p.status = 'completed'
                     AND coalesce(w.status = 'completed' OR r.status = 'succeeded', false) AS is_posted
              FROM bitcoin_batch_payouts l JOIN bitcoin_payouts p ON p.id = l.payout_id
              LEFT JOIN withdrawals w ON p.kind = 'withdrawal' AND w.id = p.id
              LEFT JOIN refunds r ON p.kind = 'refund' AND r.id = p.id
              WHERE l.batch_id = b.id
                AND (p.status IN ('waiting', 'batched')
                     OR p.txid IN (SELECT t.txid FROM bitcoin_transactions t WHERE t.batch_id = b.id))) o) n
    WHERE b.rail = $1 AND b.mode = $2
      AND (b.check_at IS NOT NULL OR (b.status = 'confirmed' AND n.posted_minor <> n.amount_minor))
"""
TRANSACTIONS = "SELECT batch_id, txid, fee_minor FROM bitcoin_transactions WHERE batch_id = ANY ($1::uuid[])"
COINS = """
    SELECT DISTINCT c.txid, c.vout, c.amount_minor, c.chain = 0 AS is_deposit
    FROM bitcoin_batches b JOIN bitcoin_batch_coins c ON c.batch_id = b.id
    WHERE b.rail = $1 AND b.mode = $2 AND b.check_at IS NOT NULL
"""


async def list_outputs(
    db: Pool | Tx, rail: str, mode: Mode, txids: AbstractSet[str], addresses: AbstractSet[str] = frozenset()
) -> dict[Outpoint, DepositOutput]:
    """The outputs of these transactions and addresses, all that are watched, and others at the addresses of what waits."""
    rows = await db.fetch(LIST_OUTPUTS, rail, mode, sorted(txids), sorted(addresses))
    found = (DepositOutput(**dict(row)) for row in rows)
    return {output.outpoint: output for output in found}


async def save(tx: Tx, rail: str, mode: Mode, new: DepositOutput, now: datetime) -> bool:
    """Store a new version of an output. False if somebody else stored it."""
    key = (rail, mode, new.txid, new.vout)
    if new.version == 1:
        return await tx.execute(INSERT, *key, new.address, new.amount_minor, new.status, new.confirmations, 1, now) == 1
    return await tx.execute(UPDATE, *key, new.status, new.confirmations, new.version, now) == 1


class BatchBooks(Struct, frozen=True):
    """A batch: the fees of its transactions, what it pays, and what the ledger has of both. `txid` is the final one."""

    is_watched: bool
    txid: str | None
    amount_minor: int
    posted_minor: int
    posted_fee_minor: int
    fees_minor: dict[str, int]


class HeldCoin(Struct, frozen=True):
    """A coin that a batch spends: a deposit, or change of an earlier batch."""

    outpoint: Outpoint
    amount_minor: int
    is_deposit: bool


class BitcoinBooks(Struct, frozen=True):
    """What the database knows: outputs of the listed transactions and watched ones, batches, and the coins they spend.

    `ours` are the listed addresses that are deposit addresses.
    """

    ours: frozenset[str]
    outputs: dict[Outpoint, DepositOutput]
    batches: tuple[BatchBooks, ...]
    held: tuple[HeldCoin, ...]


async def read_books(tx: Tx, rail: str, mode: Mode, listed: list[WalletCoin]) -> BitcoinBooks:
    """All of it, about these coins of the wallet. Call it in a snapshot."""
    rows = await tx.fetch(BATCHES, rail, mode)
    fees: dict[UUID, dict[str, int]] = {row["id"]: {} for row in rows}
    for row in await tx.fetch(TRANSACTIONS, list(fees)):
        fees[row["batch_id"]][row["txid"]] = row["fee_minor"]
    return BitcoinBooks(
        ours=frozenset(
            await store.find_ours(tx, rail, mode, sorted({output.address for output in listed if output.address}))
        ),
        outputs=await list_outputs(tx, rail, mode, {output.txid for output in listed}),
        batches=tuple(
            [
                BatchBooks(
                    is_watched=row["is_watched"],
                    txid=row["txid"],
                    amount_minor=row["amount_minor"],
                    posted_minor=row["posted_minor"],
                    posted_fee_minor=row["posted_fee_minor"],
                    fees_minor=fees[row["id"]],
                )
                for row in rows
            ]
        ),
        held=tuple(
            [
                HeldCoin((row["txid"], row["vout"]), row["amount_minor"], row["is_deposit"])
                for row in await tx.fetch(COINS, rail, mode)
            ]
        ),
    )
