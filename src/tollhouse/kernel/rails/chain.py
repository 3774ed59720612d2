"""What the rails of block chains have in common: what their workers measured, and a port through which they pay out."""

from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel import clock
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import (
    Attempt,
    Health,
    Instructions,
    PaymentTimes,
    PayoutOrder,
    PayoutState,
    RailError,
    RefundOrder,
    RefundState,
    Submission,
)

HEALTH_EXPIRES_AFTER = timedelta(seconds=60)
"""A rail whose worker has not reported for this long is down."""


class Measured(Struct, frozen=True):
    """What the rail's worker measured last."""

    available: bool
    checked_at: datetime
    facts: dict[str, Any]


class PayoutsMeasured(Struct, frozen=True):
    """What the worker measured of the payouts last: why there are none, and the currencies the wallet has too little of."""

    reason: str | None
    currencies_down: frozenset[str]
    checked_at: datetime
    facts: dict[str, Any]


class PayoutFee(Struct, frozen=True):
    """What a network would take for a payout by the prices of `measured_at`, in its coin."""

    currency: str
    amount_minor: int
    measured_at: datetime


class PayoutPort(Protocol):
    """Signs and sends orders, and keeps what became of them, as `rails.evm.payouts` does."""

    async def submit(self, kind: Literal["withdrawal", "refund"], order: PayoutOrder | RefundOrder) -> Submission:
        """Submit an order, once per id."""
        ...

    async def state(self, order_id: UUID) -> PayoutState:
        """What became of an order."""
        ...


class ChainNetwork(ABC):
    """A network in live mode, with an address for each payment.

    What was measured is refreshed by each process that has one; the worker sets `payouts`.
    """

    mode: Mode = "live"
    is_exported = False
    explorer_url: str | None = None
    """Where people look a transaction up; `{tx}` stands for its hash."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.measured: Measured | None = None
        self.payouts_measured: PayoutsMeasured | None = None
        self.payouts: PayoutPort | None = None

    @property
    @abstractmethod
    def times(self) -> PaymentTimes:
        """How long its payments take."""

    @property
    @abstractmethod
    def currencies(self) -> frozenset[str]:
        """What it carries."""

    @property
    @abstractmethod
    def pays_out(self) -> bool:
        """Whether payouts are configured."""

    @abstractmethod
    async def start_payment(self, attempt: Attempt) -> Instructions:
        """What the customer sees of an attempt with its address."""

    @abstractmethod
    def receiver_error(self, receiver: str) -> str | None:
        """Why money cannot be sent to this receiver, as a sentence; None if it can."""

    @abstractmethod
    def account_of(self, receiver: str) -> str:
        """The receiver in normal form."""

    def health(self) -> Health:
        """The last measurement; down without a recent one."""
        measured = self.measured
        if measured is None or not measured.available or clock.now() - measured.checked_at > HEALTH_EXPIRES_AFTER:
            return Health(available=False, reason="provider_down")
        return Health(
            available=True,
            currencies=self.currencies,
            payout_reason=self._payout_reason,
            payouts_down=frozenset() if self.payouts_measured is None else self.payouts_measured.currencies_down,
        )

    def payout_fee(self, currency: str) -> PayoutFee | None:
        """What a payout of this currency would cost now; None where that was not measured recently."""
        measured = self.payouts_measured
        if measured is None or clock.now() - measured.checked_at > HEALTH_EXPIRES_AFTER:
            return None
        found = measured.facts.get("fees", {}).get(currency)
        return None if found is None else PayoutFee(found["currency"], found["amount_minor"], measured.checked_at)

    async def refund(self, order: RefundOrder) -> Submission:
        """Submit a refund, once per id. Unknown outside the worker."""
        return await self._submit("refund", order)

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - as the seam asks
        """Succeeded when its block is final."""
        state = PayoutState("unknown") if self.payouts is None else await self.payouts.state(order.id)
        if state.outcome == "failed":
            return RefundState("failed", "refund_declined")
        return RefundState("succeeded" if state.outcome == "succeeded" else "pending")

    async def payout(self, order: PayoutOrder) -> Submission:
        """Submit a withdrawal, once per id. Unknown outside the worker."""
        return await self._submit("withdrawal", order)

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:  # noqa: ARG002 - as the seam asks
        """Succeeded when its block is final. Unknown outside the worker."""
        return PayoutState("unknown") if self.payouts is None else await self.payouts.state(order.id)

    @property
    def _payout_reason(self) -> RailError | None:
        if not self.pays_out:
            return "provider_not_configured"
        measured = self.payouts_measured
        if measured is None or measured.reason is not None or clock.now() - measured.checked_at > HEALTH_EXPIRES_AFTER:
            return "provider_down"
        return None

    async def _submit(self, kind: Literal["withdrawal", "refund"], order: PayoutOrder | RefundOrder) -> Submission:
        return Submission("unknown") if self.payouts is None else await self.payouts.submit(kind, order)
