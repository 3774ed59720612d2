"""SQL of sweeps: which addresses have deposits to collect, and which transfers on a chain are our own."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.batches.store import read_shown
from tollhouse.rails.evm.network.blocks import BlockTransfer
from tollhouse.rails.evm.network.node import to_minor
from tollhouse.rails.evm.network.provider import Asset
from tollhouse.rails.evm.payouts_model import Sweep

LIST_MAX = 1_000
# Addresses of payments that are open are left alone: what contracts send them is found by their balance.
LIST_COLLECTABLE = """
    SELECT a.derivation_index, a.address, sum(d.units) AS units
    FROM chain_deposits d
    JOIN deposit_addresses a ON (a.rail, a.mode, lower(a.address)) = (d.rail, d.mode, d.address)
    LEFT JOIN transactions t ON t.id = a.attempt_id
    WHERE d.rail = $1 AND d.mode = $2 AND d.currency = $3 AND d.block_number <= $4 AND d.address > $5 AND d.sweep_id IS NULL
      AND d.status IN ('final', 'confirmed', 'ignored', 'reinstated')
      AND coalesce(t.status, '') NOT IN ('pending', 'processing')
      AND NOT EXISTS (SELECT FROM chain_payouts p
                      WHERE (p.rail, p.mode, p.deposit_index) = (a.rail, a.mode, a.derivation_index)
                        AND p.status IN ('waiting', 'reserved', 'signed', 'mined'))
    GROUP BY a.derivation_index, a.address, d.address HAVING sum(d.units) >= $6
    ORDER BY d.address LIMIT $7
"""
TAKE = """
    WITH taken AS (
        UPDATE chain_deposits SET sweep_id = $6
        WHERE rail = $1 AND mode = $2 AND currency = $3 AND block_number <= $4 AND address = $5 AND sweep_id IS NULL
          AND status IN ('final', 'confirmed', 'ignored', 'reinstated')
        RETURNING units)
    SELECT coalesce(sum(units), 0) AS units FROM taken
"""
GIVE_BACK = "UPDATE chain_deposits SET sweep_id = NULL WHERE sweep_id = $1"
LIST_WAITING = """
    SELECT id, kind, currency, created_at FROM chain_payouts
    WHERE rail = $1 AND mode = $2 AND status = 'waiting' AND deposit_index IS NOT NULL ORDER BY created_at, id
"""
# Coin from one of our wallets is a deposit only where it is known to be the payout of a merchant.
FIND_FUNDINGS = """
    SELECT t.tx_hash FROM unnest($3::text[], $4::text[]) AS t (tx_hash, sender)
    WHERE EXISTS (SELECT FROM chain_wallets w WHERE (w.rail, w.mode, lower(w.address)) = ($1, $2, t.sender))
      AND NOT EXISTS (SELECT FROM chain_transactions c JOIN chain_payouts p ON p.id = c.payout_id
                      WHERE c.tx_hash = t.tx_hash AND p.kind IN ('withdrawal', 'refund'))
"""
FIND_SWEEPS = """
    SELECT c.tx_hash FROM chain_transactions c JOIN chain_payouts p ON p.id = c.payout_id
    WHERE c.tx_hash = ANY ($1::text[]) AND p.kind = 'sweep'
"""
LIST_SWEEPS = """
    SELECT p.id, p.rail, p.kind, p.status, p.amount_units, p.currency, d.address, p.receiver, p.reason, p.created_at,
           coalesce(p.tx_hash, (SELECT c.tx_hash FROM chain_transactions c
                                WHERE c.payout_id = p.id ORDER BY c.number DESC LIMIT 1)) AS tx_hash
    FROM chain_payouts p JOIN deposit_addresses d ON (d.rail, d.mode, d.derivation_index) = (p.rail, p.mode, p.deposit_index)
    WHERE p.deposit_index IS NOT NULL ORDER BY p.created_at DESC, p.id DESC LIMIT $1
"""


class Collectable(Struct, frozen=True):
    """An address with deposits that no sweep took, and their units."""

    index: int
    address: str
    units: int


class WaitingSweep(Struct, frozen=True):
    """A sweep or its gas for which nothing was signed."""

    id: UUID
    kind: str
    currency: str
    created_at: datetime


async def list_collectable(
    db: Pool, rail: str, mode: Mode, currency: str, final: int, after: str, units_min: int, limit: int
) -> list[Collectable]:
    """Addresses with at least this much of deposits up to this block, in their order, from the one after this one on."""
    rows = await db.fetch(LIST_COLLECTABLE, rail, mode, currency, final, after, units_min, limit)
    return [Collectable(row["derivation_index"], row["address"], int(row["units"])) for row in rows]


async def take(tx: Tx, rail: str, mode: Mode, currency: str, final: int, address: str, sweep_id: UUID) -> int:
    """Mark the deposits that a sweep takes. Returns their units: 0 where another sweep took them."""
    row = await tx.fetchrow(TAKE, rail, mode, currency, final, address.lower(), sweep_id)
    return 0 if row is None else int(row["units"])


async def give_back(tx: Tx, sweep_id: UUID) -> None:
    """The deposits of a sweep that moved nothing are still at their address."""
    await tx.execute(GIVE_BACK, sweep_id)


async def list_waiting(db: Pool, rail: str, mode: Mode) -> list[WaitingSweep]:
    """Sweeps and their gas for which nothing was signed, oldest first."""
    rows = await db.fetch(LIST_WAITING, rail, mode)
    return [WaitingSweep(row["id"], row["kind"], row["currency"], row["created_at"]) for row in rows]


async def find_fundings(db: Pool, rail: str, mode: Mode, transfers: Sequence[BlockTransfer]) -> set[str]:
    """The hashes of those transfers to deposit addresses that are our own, and so no deposits."""
    hashes, senders = [transfer.tx_hash for transfer in transfers], [transfer.sender for transfer in transfers]
    return {row["tx_hash"] for row in await db.fetch(FIND_FUNDINGS, rail, mode, hashes, senders)}


async def find_sweeps(db: Pool, transfers: Sequence[BlockTransfer]) -> set[str]:
    """The hashes of those transfers that are sweeps."""
    return {row["tx_hash"] for row in await db.fetch(FIND_SWEEPS, [transfer.tx_hash for transfer in transfers])}


async def list_sweeps(
    db: Pool, catalogue: Catalogue, assets: dict[tuple[str, str], Asset], limit: int = LIST_MAX
) -> list[Sweep]:
    """Sweeps and their gas, newest first. `assets` by rail and currency."""
    sweeps: list[Sweep] = []
    for row in await db.fetch(LIST_SWEEPS, limit):
        asset = assets.get((row["rail"], row["currency"]))
        currency = catalogue.currencies[row["currency"]]
        units = int(row["amount_units"])
        amount_minor = None if asset is None else to_minor(units, currency.decimals, asset.decimals)
        amount = None if amount_minor is None else catalogue.format_amount(amount_minor, row["currency"])
        sweeps.append(read_shown(Sweep, row, amount=amount))
    return sweeps
