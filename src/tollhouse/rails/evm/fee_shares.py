"""How much of the signer's fees of a day refunds use, so that those of one merchant do not stop everybody's payouts."""

from datetime import datetime, timedelta

from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.evm import fee_shares_store as store
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.signer.messages import WalletFacts

PART_OF_A_MERCHANT = 4
"""The refunds of one merchant use at most a quarter of what those of others, and other payouts, have left."""
PART_FOR_WITHDRAWALS = 4
"""A quarter of all is kept for withdrawals."""
DAY = timedelta(days=1)


async def used_wei(db: Pool | Tx, payout: ChainPayout, now: datetime) -> int:
    """What refunds of the payout's merchant can have cost at most in the last 24 hours, this one left out."""
    return await store.used_wei(db, payout, now - DAY)


def obstacle(payout: ChainPayout, wallet: WalletFacts, own_wei: int, cost_wei: int) -> str | None:
    """Why a refund must wait for fees of earlier payouts to become older than a day; None if it need not."""
    if payout.kind != "refund" or wallet.fees_per_day is None or wallet.fees_used is None:
        return None
    limit, used = int(wallet.fees_per_day), int(wallet.fees_used)
    if PART_FOR_WITHDRAWALS * (used + cost_wei) > (PART_FOR_WITHDRAWALS - 1) * limit:
        return "the rest of the day's fees is kept for withdrawals"
    left = limit - max(0, used - own_wei)
    if PART_OF_A_MERCHANT * (own_wei + cost_wei) > left:
        return "refunds of its merchant have used their share of the day's fees"
    return None
