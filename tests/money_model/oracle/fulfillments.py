"""Fulfillments in the books: what is ordered is set aside, what is delivered is charged, the rest comes back."""

from dataclasses import dataclass, field

from tests.money_model.oracle.balances import Balance, RefusedError
from tests.money_model.oracle.limits import Limits, Use, give_back

UNIT_PRICE = 10
REFUSED, PARTIAL, STUCK = {"banned", "out-of-stock"}, "partial", "stuck"
"""Players who get nothing, the one who gets half of it, rounded up, and the one of whom nothing is heard."""


@dataclass
class Fulfillment:
    """A quantity for a player."""

    quantity: int
    player: str
    status: str = "pending"
    delivered: int = 0
    fulfillment_id: str = ""
    uses: list[Use] = field(default_factory=list[Use])

    @property
    def half(self) -> int:
        """A part of it."""
        return (self.quantity + 1) // 2


@dataclass
class Fulfillments:
    """All of a merchant's, paid from its euros."""

    balance: Balance
    limits: Limits
    every: list[Fulfillment] = field(default_factory=list[Fulfillment])

    def order(self, quantity: int, player: str, at_most: int | None) -> None:
        """Set aside what it costs."""
        if at_most is not None and at_most < quantity * UNIT_PRICE:
            raise RefusedError("price_changed")
        self.balance.hold(quantity * UNIT_PRICE, "fulfillments")
        uses = self.limits.spend("fulfillments", "EUR", quantity * UNIT_PRICE)
        self.every.append(Fulfillment(quantity, player, uses=uses))

    def cancel(self, one: Fulfillment) -> None:
        """Take back what nobody was asked for yet."""
        if one.status != "pending":
            raise RefusedError("invalid_state")
        self._end(one, 0, "canceled")

    def simulate(self, one: Fulfillment, outcome: str) -> None:
        """The game server answers."""
        if one.status not in {"pending", "processing"}:
            raise RefusedError("invalid_state")
        self._deliver(one, {"complete": one.quantity, "partial": one.half, "fail": 0}[outcome])

    def deliver(self) -> None:
        """The worker asks for everything that was ordered; each player's name says what the sandbox answers."""
        for one in self.every:
            if one.status in {"pending", "processing"}:
                one.status = "processing"
                if one.player != STUCK:
                    got = 0 if one.player in REFUSED else one.half if one.player == PARTIAL else one.quantity
                    self._deliver(one, got)

    def _deliver(self, one: Fulfillment, quantity: int) -> None:
        whole = quantity == one.quantity
        self._end(one, quantity, "completed" if whole else "partially_completed" if quantity else "failed")

    def _end(self, one: Fulfillment, delivered: int, status: str) -> None:
        one.status, one.delivered = status, delivered
        self.balance.take(delivered * UNIT_PRICE, "fulfillments")
        self.balance.release((one.quantity - delivered) * UNIT_PRICE, "fulfillments")
        give_back(one.uses, (one.quantity - delivered) * UNIT_PRICE)
