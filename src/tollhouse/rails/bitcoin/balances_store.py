"""SQL of what the ledger has of a rail of Bitcoin: credited deposits, and batches that may not be in both yet."""

from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bitcoin import deposits_store
from tollhouse.rails.bitcoin.network.node import WalletCoin
from tollhouse.rails.bitcoin.network.transfers import DepositOutput, Outpoint
from tollhouse.rails.chains import store

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
        ours=frozenset(await store.find_ours(tx, rail, mode, sorted({one.address for one in listed if one.address}))),
        outputs=await deposits_store.list_outputs(tx, rail, mode, {one.txid for one in listed}),
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
