"""Orders in bitcoin: accepted once, they wait for an operator to export them."""

from uuid import UUID

from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import PayoutOrder, PayoutState, RefundOrder, Submission
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.bitcoin import payouts_store as store
from tollhouse.rails.bitcoin.network import psbt
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.payouts_model import BitcoinPayout
from tollhouse.rails.chains.model import PayoutOrderKind


class BitcoinPayouts:
    """The orders of one rail, for its provider in the worker."""

    def __init__(self, db: Pool, network: BitcoinNetwork) -> None:
        self.db, self.network = db, network

    async def submit(self, kind: PayoutOrderKind, order: PayoutOrder | RefundOrder) -> Submission:
        """Accept an order. `rejected` where it was refused, or where the network would not relay it."""
        stored = await store.get(self.db, order.id)
        if stored is None:
            least = psbt.dust_limit(self.network.settings.network, order.receiver)
            if least is None:
                return Submission("rejected", failure_code="receiver_invalid")
            if order.amount_minor < least:
                return Submission("rejected", failure_code="payout_declined")
            await store.insert(self.db, self._new(kind, order), clock.now())
        elif stored.status == "failed":
            return Submission("rejected", failure_code="payout_declined")
        return Submission("accepted", order.id.hex)

    async def state(self, order_id: UUID) -> PayoutState:
        """What became of an order. It is charged its share of the network fee."""
        payout = await store.get(self.db, order_id)
        if payout is None:
            return PayoutState("absent")
        if payout.status == "failed":
            return PayoutState("failed", "payout_declined")
        if payout.status == "completed":
            return PayoutState("succeeded", tx_hash=payout.txid, network_fee_minor=payout.fee_minor)
        return PayoutState("pending")

    def _new(self, kind: PayoutOrderKind, order: PayoutOrder | RefundOrder) -> BitcoinPayout:
        return BitcoinPayout(
            id=order.id,
            kind=kind,
            rail=self.network.name,
            mode=self.network.mode,
            currency=order.currency,
            address=self.network.account_of(order.receiver),
            amount_minor=order.amount_minor,
        )
