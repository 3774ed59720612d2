"""The rail of the histories: coins by a network, cards and transfers, with all that was received and paid out."""

from collections import Counter
from datetime import datetime, timedelta

from tests.payments.courier import DOOR, Courier
from tollhouse.kernel.catalogue.methods import Fees, Method
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import PaymentTimes, PayoutOrder, PayoutState, Submission

NAME = "quay"
PAYER = f"{DOOR}1"
MARGIN_BPS = 100
PAIR_FEE_BPS = 50
METHODS = {
    f"{NAME}:{code}": Method(
        method_id=f"{NAME}:{code}",
        name=f"{code} at the quay",
        type="card",
        rail=NAME,
        confirmation="minutes",
        fees=Fees(basis_points=0 if code == "EUR" else 50, chargeback_minor=15),
        rate_margin_basis_points=MARGIN_BPS,
    )
    for code in ("BTC", "USD", "EUR")
}
WITHDRAWAL_METHODS = {
    f"{NAME}:{code}": WithdrawalMethod(
        method_id=f"{NAME}:{code}", name=f"{code} at the quay", rail=NAME, receiver_type="sandbox", provider_fields={}
    )
    for code in ("BTC", "USD", "EUR")
}


class Quay(Courier):
    """`coins` is what is there, by currency: what came in, without what went out."""

    name = NAME
    mode: Mode = "live"
    times = PaymentTimes(block_within=timedelta(hours=2))

    def __init__(self) -> None:
        super().__init__()
        self.coins: Counter[str] = Counter()

    async def payout(self, order: PayoutOrder) -> Submission:
        """Taken along."""
        return Submission("accepted", f"trip-{order.id}")

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:
        """Delivered as soon as anybody asks."""
        del order, now
        return PayoutState("succeeded")
