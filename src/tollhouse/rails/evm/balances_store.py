"""SQL of what the ledger does not have as the chain has it, at the block up to which a chain was read."""

import msgspec
from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.chains.model import BlockId, Cursor

ADDRESSES_AT_ONCE = 1_000

CURSOR = "SELECT cursor FROM rail_cursors WHERE rail = $1 AND mode = $2"
# What is final is in a block up to the cursor. Of `lost` deposits, which were credited, nothing is on the chain.
DEPOSITS = """
    SELECT currency,
           coalesce(sum(units) FILTER (WHERE status IN ('final', 'reinstated')), 0) AS not_credited_units,
           coalesce(sum(units) FILTER (WHERE status = 'ignored'), 0) AS ignored_units,
           coalesce(sum(units) FILTER (WHERE status = 'confirmed'), 0) AS credited_units,
           coalesce(sum(amount_minor) FILTER (WHERE status = 'confirmed'), 0) AS credited_minor,
           coalesce(sum(amount_minor) FILTER (WHERE status = 'lost'), 0) AS lost_minor
    FROM chain_deposits WHERE rail = $1 AND mode = $2 AND status NOT IN ('seen', 'vanished') GROUP BY currency
"""
# Ended payouts: is their block up to the cursor ($3), and is their withdrawal or refund in the ledger? Sweeps and their gas
# move money within the rail: only their fees leave.
ENDED = """
    SELECT p.id, p.currency, p.status = 'completed' AND p.transfer_id IS NOT NULL AS has_left, p.amount_units,
           p.block_number <= $3 AS on_chain,
           coalesce(w.status = 'completed', r.status = 'succeeded', false) AS is_posted,
           p.fee_wei, p.fee_currency, p.fee_minor,
           CASE WHEN p.kind = 'withdrawal' AND p.currency = p.fee_currency AND p.status = 'completed'
                THEN w.status = 'completed' IS TRUE ELSE p.fee_minor IS NOT NULL END AS fee_is_posted
    FROM chain_payouts p
    LEFT JOIN withdrawals w ON p.kind = 'withdrawal' AND w.id = p.id
    LEFT JOIN refunds r ON p.kind = 'refund' AND r.id = p.id
    WHERE p.rail = $1 AND p.mode = $2 AND p.status IN ('completed', 'failed') AND p.block_number IS NOT NULL
"""
PAID_OUT = f"""
    SELECT currency,
           coalesce(sum(amount_units) FILTER (WHERE on_chain AND NOT is_posted), 0) AS not_posted_units,
           coalesce(sum(amount_units) FILTER (WHERE is_posted AND NOT on_chain), 0) AS ahead_units
    FROM ({ENDED}) ended WHERE has_left GROUP BY currency
"""
FEES = f"""
    SELECT coalesce(sum(fee_wei) FILTER (WHERE on_chain AND NOT fee_is_posted), 0) AS not_posted_wei,
           coalesce(sum(fee_minor) FILTER (WHERE fee_is_posted AND NOT on_chain), 0) AS ahead_minor,
           coalesce(sum(fee_wei) FILTER (WHERE on_chain AND fee_is_posted), 0) AS paid_wei,
           coalesce(sum(fee_minor) FILTER (WHERE on_chain AND fee_is_posted), 0) AS paid_minor
    FROM ({ENDED}) ended
"""
OPEN = """
    SELECT p.currency, CASE WHEN p.transfer_id IS NULL THEN 0 ELSE p.amount_units END AS amount_units, c.tx_hash
    FROM chain_payouts p JOIN chain_transactions c ON c.payout_id = p.id
    WHERE p.rail = $1 AND p.mode = $2 AND p.status IN ('reserved', 'signed', 'mined')
"""
# Deposit addresses have nonces, too, where sweeps begin.
WALLETS = """
    SELECT lower(w.address) AS address FROM chain_wallets w
    WHERE w.rail = $1 AND w.mode = $2
      AND NOT EXISTS (SELECT FROM deposit_addresses d
                      WHERE (d.rail, d.mode, lower(d.address)) = (w.rail, w.mode, lower(w.address)))
    UNION
    SELECT lower(facts ->> 'wallet') FROM chain_payout_health WHERE rail = $1 AND mode = $2 AND facts ? 'wallet'
"""
SWEEP_TARGETS = """
    SELECT lower(receiver) AS address FROM chain_payouts WHERE rail = $1 AND mode = $2 AND kind = 'sweep'
    UNION
    SELECT lower(facts ->> 'sweep_to') FROM chain_payout_health
    WHERE rail = $1 AND mode = $2 AND facts ->> 'sweep_to' IS NOT NULL
"""
IS_WALLET_KNOWN = "SELECT FROM chain_payout_health WHERE rail = $1 AND mode = $2 AND facts ? 'wallet'"
# Addresses that have been paid in this currency, in their order. Of a token nothing stays after a sweep; of the coin, what
# its transaction did not use does.
HOLDING_UNSWEPT = """
    SELECT d.address FROM chain_deposits d
    LEFT JOIN chain_payouts s ON s.id = d.sweep_id AND s.status = 'completed' AND s.block_number <= $6
    WHERE d.rail = $1 AND d.mode = $2 AND d.currency = $3 AND d.address > $4 AND d.status NOT IN ('seen', 'vanished')
      AND s.id IS NULL
    GROUP BY d.address ORDER BY d.address LIMIT $5
"""
HOLDING_COIN = """
    SELECT address FROM (
        (SELECT address FROM chain_deposits
         WHERE rail = $1 AND mode = $2 AND currency = $3 AND address > $4 AND status NOT IN ('seen', 'vanished')
         GROUP BY address ORDER BY address LIMIT $5)
        UNION
        (SELECT lower(receiver) FROM chain_payouts
         WHERE rail = $1 AND mode = $2 AND kind = 'gas' AND lower(receiver) > $4
         GROUP BY lower(receiver) ORDER BY lower(receiver) LIMIT $5)) paid
    ORDER BY address LIMIT $5
"""


class DepositSums(Struct, frozen=True):
    """Deposits of one currency in final blocks, by what became of them, and those that were credited and are gone."""

    not_credited_units: int = 0
    ignored_units: int = 0
    credited_units: int = 0
    credited_minor: int = 0
    lost_minor: int = 0


class PayoutSums(Struct, frozen=True):
    """Payouts of one currency that left and are not in the ledger, and those in the ledger that left in later blocks."""

    not_posted_units: int = 0
    ahead_units: int = 0


class FeeSums(Struct, frozen=True):
    """Fees that the network took and are not in the ledger, those in the ledger of later blocks, and the others in both."""

    not_posted_wei: int = 0
    ahead_minor: int = 0
    paid_wei: int = 0
    paid_minor: int = 0


class OpenTransaction(Struct, frozen=True):
    """A transaction of a payout that has not ended here. It may be on the chain."""

    currency: str
    amount_units: int
    tx_hash: str


class ChainBooks(Struct, frozen=True):
    """What the database knows of a chain at one block."""

    block: BlockId
    wallets: tuple[str, ...]
    sweep_targets: tuple[str, ...]
    has_wallet: bool
    deposits: dict[str, DepositSums]
    payouts: dict[str, PayoutSums]
    fees: FeeSums
    open: tuple[OpenTransaction, ...]


async def read_books(tx: Tx, rail: str, mode: Mode) -> ChainBooks | None:
    """All of it; None where no block was read yet. Call it in a snapshot."""
    found = await tx.fetchval(CURSOR, rail, mode)
    if found is None:
        return None
    block = msgspec.json.decode(found, type=Cursor).block
    [fees] = await tx.fetch(FEES, rail, mode, block.number)
    wallets = [row["address"] for row in await tx.fetch(WALLETS, rail, mode)]
    targets = [row["address"] for row in await tx.fetch(SWEEP_TARGETS, rail, mode)]
    return ChainBooks(
        block=block,
        wallets=tuple(wallets),
        sweep_targets=tuple([address for address in targets if address not in wallets]),
        has_wallet=await tx.fetchrow(IS_WALLET_KNOWN, rail, mode) is not None,
        deposits={
            row["currency"]: DepositSums(*(int(value) for value in [*row.values()][1:]))
            for row in await tx.fetch(DEPOSITS, rail, mode)
        },
        payouts={
            row["currency"]: PayoutSums(int(row["not_posted_units"]), int(row["ahead_units"]))
            for row in await tx.fetch(PAID_OUT, rail, mode, block.number)
        },
        fees=FeeSums(*(int(value) for value in fees.values())),
        open=tuple(
            [
                OpenTransaction(row["currency"], int(row["amount_units"]), row["tx_hash"])
                for row in await tx.fetch(OPEN, rail, mode)
            ]
        ),
    )


async def list_paid_addresses(
    db: Pool, rail: str, mode: Mode, currency: str, after: str, swept_until: int | None
) -> list[str]:
    """Addresses that may have some of this currency, from the one after this one on.

    `swept_until`: of a token, addresses that were emptied in blocks up to this number are left out.
    """
    values = (rail, mode, currency, after, ADDRESSES_AT_ONCE)
    if swept_until is None:
        rows = await db.fetch(HOLDING_COIN, *values)
    else:
        rows = await db.fetch(HOLDING_UNSWEPT, *values, swept_until)
    return [row["address"] for row in rows]
