"""Rails of the test bed: a bank of live mode that does as it is told, and a line to any rail, which can be cut."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import (
    AT_ONCE,
    Attempt,
    Health,
    Instructions,
    PaymentTimes,
    PayoutOrder,
    PayoutState,
    Provider,
    RefundOrder,
    RefundState,
    Submission,
)
from tollhouse.kernel.text import Translatable

OWN_IBAN = "DE89370400440532013000"
PENDING = PayoutState("pending")


class PaperBank:
    """A bank that has what was handed in, once for each id, and says of it what the test lets it say."""

    name = "bank"
    mode: Mode = "live"
    is_exported = False
    times = AT_ONCE

    def __init__(self) -> None:
        self.orders: dict[UUID, PayoutOrder] = {}
        self.declines = False
        self.down = False
        self.state = PENDING

    def health(self) -> Health:
        """Open, unless it is down."""
        return Health(available=False, reason="provider_down") if self.down else Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """Pay by reference."""
        return Instructions(reference=str(attempt.id), words="Pay at the counter.", address=OWN_IBAN)

    def receiver_error(self, receiver: str) -> Translatable | None:
        """Nobody pays the house's own account."""
        return "This is our own account." if receiver == OWN_IBAN else None

    def account_of(self, receiver: str) -> str:
        """As it is written."""
        return receiver

    async def refund(self, order: RefundOrder) -> Submission:
        """As a payout."""
        return Submission("accepted", f"paper-{order.id}")

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:
        """Never ends."""
        del order, now
        return RefundState("pending")

    async def payout(self, order: PayoutOrder) -> Submission:
        """Keep it, once."""
        if self.declines:
            return Submission("rejected", failure_code="receiver_invalid")
        self.orders.setdefault(order.id, order)
        return Submission("accepted", f"paper-{order.id}")

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:
        """What the test says, of what it has."""
        del now
        return self.state if order.id in self.orders else PayoutState("absent")


class Line:
    """A line to a rail that counts what is handed in, and can be cut before the order arrives or before its answer does."""

    def __init__(self, rail: Provider) -> None:
        self.rail = rail
        self.sent: list[UUID] = []
        self.cut: Literal["before", "after"] | None = None
        self.dead = False

    def times_sent(self, withdrawal: dict[str, Any]) -> int:
        """How often this one was handed in."""
        return self.sent.count(UUID(withdrawal["id"]))

    @property
    def name(self) -> str:
        """The rail's."""
        return self.rail.name

    @property
    def mode(self) -> Mode:
        """The rail's."""
        return self.rail.mode

    @property
    def is_exported(self) -> bool:
        """The rail's."""
        return self.rail.is_exported

    @property
    def times(self) -> PaymentTimes:
        """The rail's."""
        return self.rail.times

    def health(self) -> Health:
        """The rail's."""
        return self.rail.health()

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The rail's."""
        return await self.rail.start_payment(attempt)

    def receiver_error(self, receiver: str) -> Translatable | None:
        """The rail's."""
        return self.rail.receiver_error(receiver)

    def account_of(self, receiver: str) -> str:
        """The rail's."""
        return self.rail.account_of(receiver)

    async def refund(self, order: RefundOrder) -> Submission:
        """The rail's."""
        return await self.rail.refund(order)

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:
        """The rail's."""
        return await self.rail.refund_state(order, now)

    async def payout(self, order: PayoutOrder) -> Submission:
        """The rail's, unless the line is cut."""
        if self.cut == "before":
            raise ConnectionResetError
        self.sent.append(order.id)
        answer = await self.rail.payout(order)
        if self.cut == "after":
            raise TimeoutError
        return answer

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:
        """The rail's, unless nobody picks up."""
        if self.dead:
            raise TimeoutError
        return await self.rail.payout_state(order, now)
