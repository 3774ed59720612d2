"""SQL of payouts that are exported and signed on a machine without network."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.payouts_store import COLUMNS, payout_of
from tollhouse.rails.evm.signer.messages import GasTerms
from tollhouse.transfers.gate.model import OUTGOING_TRANSFER, OutgoingTransfer

LIST_WAITING = f"""
    SELECT {OUTGOING_TRANSFER.columns_of("o")} FROM outgoing_transfers o JOIN chain_payouts p ON p.id = o.id
    WHERE p.rail = $1 AND p.mode = $2 AND p.status = 'waiting' AND p.refused_by_action_id IS NULL
    ORDER BY p.created_at, p.id LIMIT $3
"""
LOCK_WAITING = f"""
    SELECT {OUTGOING_TRANSFER.columns_of("o")} FROM outgoing_transfers o JOIN chain_payouts p ON p.id = o.id
    WHERE p.id = ANY ($1::uuid[]) AND p.status = 'waiting' AND p.refused_by_action_id IS NULL
    ORDER BY p.created_at, p.id FOR NO KEY UPDATE OF o, p
"""
MARK_EXPORTED = """
    UPDATE chain_payouts SET exported_at = $2, check_at = NULL, reason = 'exported, and not imported yet'
    WHERE id = $1 AND status = 'reserved' AND exported_at IS NULL
"""
# Exported ones that are not signed, or not with the terms that were exported last.
LIST_UNSIGNED = f"""
    SELECT {COLUMNS} FROM chain_payouts p
    WHERE p.rail = $1 AND p.mode = $2 AND p.exported_at IS NOT NULL AND p.status IN ('reserved', 'signed')
      AND p.fee_per_gas > coalesce((SELECT max(c.fee_per_gas) FROM chain_transactions c WHERE c.payout_id = p.id), 0)
    ORDER BY p.nonce
"""
LIST_TOO_CHEAP = f"""
    SELECT {COLUMNS} FROM chain_payouts p
    WHERE p.rail = $1 AND p.mode = $2 AND p.exported_at IS NOT NULL AND p.status IN ('reserved', 'signed')
      AND p.fee_per_gas < $3
    ORDER BY p.nonce
"""
RAISE_FEE = """
    UPDATE chain_payouts SET fee_per_gas = $3, tip_per_gas = $4, updated_at = $5
    WHERE id = $1 AND fee_per_gas = $2 AND status IN ('reserved', 'signed')
"""


async def list_waiting(tx: Tx, rail: str, mode: Mode, limit: int) -> list[OutgoingTransfer]:
    """The transfers of payouts that have no nonce, oldest first."""
    return [OUTGOING_TRANSFER.read(row) for row in await tx.fetch(LIST_WAITING, rail, mode, limit)]


async def lock_waiting(tx: Tx, payout_ids: list[UUID]) -> list[OutgoingTransfer]:
    """Those of these payouts that still have no nonce, locked, oldest first."""
    return [OUTGOING_TRANSFER.read(row) for row in await tx.fetch(LOCK_WAITING, payout_ids)]


async def mark_exported(tx: Tx, payout: ChainPayout, now: datetime) -> None:
    """Record that the nonce of a payout is given out in a file. From now on it may be signed."""
    await tx.execute(MARK_EXPORTED, payout.id, now)


async def list_unsigned(db: Pool | Tx, rail: str, mode: Mode) -> list[ChainPayout]:
    """Exported payouts of which the signed bytes are missing, by nonce."""
    return [payout_of(row) for row in await db.fetch(LIST_UNSIGNED, rail, mode)]


async def list_too_cheap(tx: Tx, rail: str, mode: Mode, fee_per_gas: int) -> list[ChainPayout]:
    """Exported payouts in no block that pay less than this for gas, by nonce."""
    return [payout_of(row) for row in await tx.fetch(LIST_TOO_CHEAP, rail, mode, fee_per_gas)]


async def raise_fee(tx: Tx, payout: ChainPayout, terms: GasTerms, now: datetime) -> None:
    """Let an exported payout pay more, unless another export did so meanwhile."""
    before = 0 if payout.terms is None else payout.terms.fee_per_gas
    await tx.execute(RAISE_FEE, payout.id, before, terms.fee_per_gas, terms.tip_per_gas, now)
