"""Ends payouts on chains, and books what the network took: an expense, unless the merchant of a withdrawal pays it."""

from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, expense, rail
from tollhouse.ledger.books.post import post_platform
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm import sweeps_store
from tollhouse.rails.evm.network.node import COIN_DECIMALS
from tollhouse.rails.evm.payouts_model import ChainFee, ChainPayout, MinedTransfer

SOURCE = "chain_payout"


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
