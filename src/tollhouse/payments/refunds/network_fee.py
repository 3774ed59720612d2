"""What a network takes for a refund, and the least amount that is worth it."""

from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.payments.transactions.model import Transaction
from tollhouse.transfers.conversions import prices
from tollhouse.transfers.conversions.model import exchange_from, rate_between
from tollhouse.transfers.gate import limits

FLOOR_IN_FEES = 5


def charged_minor(current: Transaction, catalogue: Catalogue) -> int:
    """The network fee that the merchant pays, as for a withdrawal of this currency by this rail."""
    method = limits.method_of(current.rail, current.currency, catalogue)
    return 0 if method is None else method.network_fee_minor


async def floor_minor(work: Work, current: Transaction) -> int:
    """The least amount of a refund that leaves a rest: that of the method, and five times the present network fee."""
    method = work.services.catalogue.methods.get(current.method_id)
    fee_minor = max(charged_minor(current, work.services.catalogue), await _measured_minor(work, current))
    return max(1 if method is None else method.minimum_refund_minor, FLOOR_IN_FEES * fee_minor)


async def _measured_minor(work: Work, current: Transaction) -> int:
    """What the network would take now, in the currency of the payment; 0 where that is not known."""
    network = work.services.rails.find(current.rail, current.env.mode)
    fee = network.payout_fee(current.currency) if isinstance(network, ChainNetwork) else None
    if fee is None or fee.amount_minor == 0:
        return 0
    if fee.currency == current.currency:
        return fee.amount_minor
    codes = frozenset({fee.currency, current.currency})
    known = await prices.list_prices(work.tx, current.env.mode, codes, work.now)
    if not codes <= known.keys():
        return 0
    catalogue, coin, asked = work.services.catalogue, known[fee.currency], known[current.currency]
    rate = rate_between(coin.per_euro, asked.per_euro, work.now)
    return exchange_from(catalogue.pair(fee.currency, current.currency), rate, fee.amount_minor, catalogue).to_amount_minor
