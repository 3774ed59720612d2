"""SQL of what the refunds of a merchant cost on a network."""

from datetime import datetime

from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.evm.payouts_model import ChainPayout

# Each counts with the highest fee that was signed for it, and one that is being signed with its terms.
USED = """
    SELECT coalesce(sum(greatest(p.gas::numeric * p.fee_per_gas, s.cost)), 0)::text AS used
    FROM outgoing_transfers mine
    JOIN outgoing_transfers o ON (o.merchant_id, o.mode) = (mine.merchant_id, mine.mode) AND o.kind = 'refund'
    JOIN chain_payouts p ON p.id = o.id AND p.rail = $2 AND p.nonce IS NOT NULL
    CROSS JOIN LATERAL (SELECT max(c.gas::numeric * c.fee_per_gas) AS cost, max(c.signed_at) AS signed_at
                        FROM chain_transactions c WHERE c.payout_id = p.id) s
    WHERE mine.id = $1 AND p.id <> $1 AND (s.signed_at > $3 OR p.status = 'reserved')
"""


async def used_wei(db: Pool | Tx, payout: ChainPayout, since: datetime) -> int:
    """What the other refunds of its merchant by this rail can have cost since then, in wei."""
    [row] = await db.fetch(USED, payout.id, payout.rail, since)
    return int(row["used"])
