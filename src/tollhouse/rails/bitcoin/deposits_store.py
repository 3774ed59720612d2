"""SQL of Bitcoin outputs to deposit addresses."""

from collections.abc import Set as AbstractSet
from datetime import datetime

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.bitcoin.network.transfers import DepositOutput, Outpoint

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


async def list_outputs(
    db: Pool | Tx, rail: str, mode: Mode, txids: AbstractSet[str], addresses: AbstractSet[str] = frozenset()
) -> dict[Outpoint, DepositOutput]:
    """The outputs of these transactions and addresses, all that are watched, and others at the addresses of what waits."""
    rows = await db.fetch(LIST_OUTPUTS, rail, mode, sorted(txids), sorted(addresses))
    found = (DepositOutput(**dict(row)) for row in rows)
    return {one.outpoint: one for one in found}


async def save(tx: Tx, rail: str, mode: Mode, new: DepositOutput, now: datetime) -> bool:
    """Store a new version of an output. False if somebody else stored it."""
    key = (rail, mode, new.txid, new.vout)
    if new.version == 1:
        return await tx.execute(INSERT, *key, new.address, new.amount_minor, new.status, new.confirmations, 1, now) == 1
    return await tx.execute(UPDATE, *key, new.status, new.confirmations, new.version, now) == 1
