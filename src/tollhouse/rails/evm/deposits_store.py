"""SQL of deposits that were found on a chain."""

from collections.abc import Sequence
from datetime import datetime

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.chains.model import Deposit

# In a block that is not final. What is final already is not seen again.
SEE = """
    INSERT INTO chain_deposits AS d (rail, mode, tx_hash, address, currency, sender, units, amount_minor, block_number,
                                     block_hash, block_at, status, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'seen', $12)
    ON CONFLICT (rail, mode, tx_hash, address, currency) DO UPDATE
    SET units = excluded.units, amount_minor = excluded.amount_minor, block_number = excluded.block_number,
        block_hash = excluded.block_hash, block_at = excluded.block_at, status = 'seen', updated_at = excluded.updated_at
    WHERE d.status IN ('seen', 'vanished') AND (d.status, d.block_hash) <> ('seen', excluded.block_hash)
"""
# In a final block. What was credited from a replaced block is the same deposit if it is the same amount; another amount, as
# of a token that keeps a fee in some blocks, is a deposit of its own.
FINALIZE = """
    INSERT INTO chain_deposits AS d (rail, mode, tx_hash, address, currency, sender, units, amount_minor, block_number,
                                     block_hash, block_at, status, updated_at)
    SELECT $1, $2,
           CASE WHEN EXISTS (SELECT FROM chain_deposits c
                             WHERE (c.rail, c.mode, c.tx_hash, c.address, c.currency) = ($1, $2, $3, $4, $5)
                               AND c.status IN ('lost', 'reversed') AND c.units <> $7::numeric)
                THEN $3 || '#' || $7::numeric ELSE $3 END,
           $4, $5, $6, $7::numeric, $8::bigint, $9, $10, $11, CASE WHEN $8::bigint = 0 THEN 'ignored' ELSE 'final' END, $12
    ON CONFLICT (rail, mode, tx_hash, address, currency) DO UPDATE
    SET units = CASE WHEN d.status IN ('seen', 'vanished') THEN excluded.units ELSE d.units END,
        amount_minor = CASE WHEN d.status IN ('seen', 'vanished') THEN excluded.amount_minor ELSE d.amount_minor END,
        block_number = excluded.block_number, block_hash = excluded.block_hash, block_at = excluded.block_at,
        status = CASE d.status WHEN 'lost' THEN 'confirmed' WHEN 'reversed' THEN 'reinstated'
                               WHEN 'seen' THEN excluded.status WHEN 'vanished' THEN excluded.status ELSE d.status END,
        updated_at = excluded.updated_at
"""
# Not in the blocks up to the cursor, which are read; of later ones, not in the block that the chain has now.
VANISH = """
    UPDATE chain_deposits SET status = 'vanished', updated_at = $5
    WHERE rail = $1 AND mode = $2 AND status = 'seen' AND block_number <= $3
      AND NOT block_hash = ANY ($4::text[])
"""
LOSE = """
    UPDATE chain_deposits
    SET status = CASE status WHEN 'confirmed' THEN 'lost' WHEN 'reinstated' THEN 'reversed' ELSE 'vanished' END,
        updated_at = $4
    WHERE rail = $1 AND mode = $2 AND block_number > $3 AND status IN ('final', 'confirmed', 'reinstated', 'ignored')
"""
DEPOSIT = Record(Deposit, "chain_deposits")
# Of lost ones, those that are not on the new chain, which is known completely up to a number.
LIST_UNSETTLED = f"""
    SELECT {DEPOSIT.columns_of("d")}, a.address AS reference
    FROM chain_deposits d
    JOIN deposit_addresses a ON (a.rail, a.mode, lower(a.address)) = (d.rail, d.mode, d.address)
    WHERE d.rail = $1 AND d.mode = $2
      AND (d.status IN ('seen', 'final', 'lost', 'reinstated')
           OR (d.status IN ('vanished', 'ignored') AND d.reported_block_hash IS NOT NULL))
      AND (d.status <> 'lost' OR d.block_number <= $3)
    ORDER BY d.block_number, d.tx_hash, d.address, d.currency
"""
SETTLE = """
    UPDATE chain_deposits SET status = $6, reported_block_hash = $7, reported_confirmations = $8, reversal_ref = $9,
        reversals = $10, updated_at = $13
    WHERE rail = $1 AND mode = $2 AND tx_hash = $3 AND address = $4 AND currency = $5 AND status = $11 AND block_hash = $12
"""
SUM_UNITS = """
    SELECT address, sum(units) AS units, count(*) FILTER (WHERE tx_hash LIKE 'internal:%') AS internal FROM chain_deposits
    WHERE rail = $1 AND mode = $2 AND currency = $3 AND address = ANY ($4::text[])
      AND status IN ('final', 'confirmed', 'ignored', 'reinstated')
    GROUP BY address
"""


async def see(tx: Tx, rail: str, mode: Mode, deposits: Sequence[Deposit], now: datetime) -> None:
    """Record deposits in blocks that are not final."""
    for deposit in deposits:
        await tx.execute(SEE, *_values(rail, mode, deposit, now))


async def finalize(tx: Tx, rail: str, mode: Mode, deposits: Sequence[Deposit], now: datetime) -> None:
    """Record deposits in final blocks. What is worth nothing is ignored."""
    for deposit in deposits:
        await tx.execute(FINALIZE, *_values(rail, mode, deposit, now))


async def vanish(db: Pool | Tx, rail: str, mode: Mode, up_to: int, hashes: Sequence[str], now: datetime) -> None:
    """Mark what was seen in blocks up to this number that are none of these."""
    await db.execute(VANISH, rail, mode, up_to, list(hashes), now)


async def lose(tx: Tx, rail: str, mode: Mode, after: int, now: datetime) -> None:
    """Mark final deposits above this block as not found again yet."""
    await tx.execute(LOSE, rail, mode, after, now)


async def list_unsettled(db: Pool, rail: str, mode: Mode, known_up_to: int) -> list[tuple[str, Deposit]]:
    """Deposits of which something is to be reported, each with the reference of its payment.

    Of lost ones, those that must have been found again if they were in the blocks up to this number.
    """
    return [(row["reference"], DEPOSIT.read(row)) for row in await db.fetch(LIST_UNSETTLED, rail, mode, known_up_to)]


async def settle(tx: Tx, rail: str, mode: Mode, old: Deposit, new: Deposit, now: datetime) -> bool:
    """Store what was reported. False if the deposit has changed since it was read."""
    key = (rail, mode, old.tx_hash, old.address, old.currency)
    reported = (new.status, new.reported_block_hash, new.reported_confirmations, new.reversal_ref, new.reversals)
    return await tx.execute(SETTLE, *key, *reported, old.status, old.block_hash, now) == 1


async def sum_units(db: Pool, rail: str, mode: Mode, currency: str, addresses: Sequence[str]) -> dict[str, tuple[int, int]]:
    """By address: the units of its final deposits, and how many of them were internal transfers."""
    rows = await db.fetch(SUM_UNITS, rail, mode, currency, list(addresses))
    return {row["address"]: (int(row["units"]), row["internal"]) for row in rows}


def _values(rail: str, mode: Mode, deposit: Deposit, now: datetime) -> tuple[object, ...]:
    block = (deposit.block_number, deposit.block_hash, deposit.block_at)
    return (
        rail,
        mode,
        deposit.tx_hash,
        deposit.address,
        deposit.currency,
        deposit.sender,
        deposit.units,
        deposit.amount_minor,
        *block,
        now,
    )
