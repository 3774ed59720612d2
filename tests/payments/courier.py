"""A rail of live mode for tests: a courier carries cash. It pushes money to us, and must be told where to bring it back."""

from datetime import datetime

from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import AT_ONCE, Attempt, Health, Instructions, RefundOrder, RefundState, Submission

COURIER = Method(method_id="courier:EUR", name="Cash by courier", type="bank_transfer", rail="courier", confirmation="days")
DOOR = "Door "


class Courier:
    """Always at work. `carried` is what was handed in to be given back, by id."""

    name = "courier"
    mode: Mode = "live"
    is_exported = False
    times = AT_ONCE

    def __init__(self) -> None:
        self.carried: dict[str, RefundOrder] = {}

    def health(self) -> Health:
        """There is always a courier."""
        return Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """A ticket for the envelope, and where to leave it."""
        return Instructions(reference=f"ticket-{attempt.id}", words="Leave it at the kiosk.", address="Kiosk 7, Quay Street")

    def receiver_error(self, receiver: str) -> str | None:
        """Cash is brought to a door."""
        return None if receiver.startswith(DOOR) else "This is no door."

    def account_of(self, receiver: str) -> str:
        """As it stands on the door."""
        return receiver

    async def refund(self, order: RefundOrder) -> Submission:
        """Taken along; the same one once."""
        self.carried[str(order.id)] = order
        return Submission("accepted", f"trip-{order.id}")

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:
        """Delivered as soon as anybody asks."""
        there = str(order.id) in self.carried and now >= order.ordered_at
        return RefundState("succeeded" if there else "pending")
