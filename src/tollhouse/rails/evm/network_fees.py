"""What networks take: how much of a day's fees refunds may use, and how the fee of a payout is booked when it ends."""

from datetime import datetime, timedelta

from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, expense, rail
from tollhouse.ledger.books.post import post_platform
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm import sweeps_store
from tollhouse.rails.evm.network.node import COIN_DECIMALS
from tollhouse.rails.evm.payouts_model import ChainFee, ChainPayout, MinedTransfer
from tollhouse.rails.evm.signer.messages import WalletFacts

PART_OF_A_MERCHANT = 4
"""The refunds of one merchant use at most a quarter of what those of others, and other payouts, have left."""
PART_FOR_WITHDRAWALS = 4
"""A quarter of all is kept for withdrawals."""
DAY = timedelta(days=1)
SOURCE = "chain_payout"


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


def fee_minor(fee_wei: int, coin: str, catalogue: Catalogue) -> int:
    """A fee in minor units of the network's coin, rounded up."""
    return -(-fee_wei // 10 ** (COIN_DECIMALS - catalogue.currencies[coin].decimals))


async def complete(work: Work, payout: ChainPayout, coin: str, mined: MinedTransfer) -> None:
    """Complete a payout whose block is final. A withdrawal of the coin is charged its fee when it completes."""
    fee = ChainFee(coin, fee_minor(mined.fee_wei, coin, work.services.catalogue))
    is_charged = payout.kind == "withdrawal" and payout.contract is None
    if await store.complete(work.tx, payout.id, mined, fee, work.now) and not is_charged:
        await _book(work, payout, fee)


async def fail(work: Work, payout: ChainPayout, coin: str, mined: MinedTransfer, reason: str) -> None:
    """Fail a payout whose transaction is final and has moved nothing. The network took its fee all the same."""
    fee = ChainFee(coin, fee_minor(mined.fee_wei, coin, work.services.catalogue))
    if await store.fail(work.tx, payout.id, mined, fee, reason, work.now):
        await _book(work, payout, fee)
        if payout.kind == "sweep":
            await sweeps_store.give_back(work.tx, payout.id)


async def _book(work: Work, payout: ChainPayout, fee: ChainFee) -> None:
    if fee.amount_minor:
        posting = Posting("network_fee", fee.currency, fee.amount_minor, expense("network_fee"), rail(payout.rail))
        await post_platform(work, [JournalEntry(payout.mode, "network_fee", Source(SOURCE, payout.id), (posting,))])
