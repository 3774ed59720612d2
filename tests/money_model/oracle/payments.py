"""Links, payments and refunds in the books, and what a merchant has set for them."""

from dataclasses import dataclass, field
from typing import Literal

from tests.money_model.oracle.limits import Use


@dataclass(frozen=True)
class Policy:
    """What the merchant has set for amounts that do not fit."""

    tolerance_bps: int = 50
    overpayment: Literal["credit", "refund_required"] = "credit"
    late_payments: Literal["refund_required", "accept"] = "refund_required"


@dataclass
class Link:
    """A payment link."""

    link_id: str
    currency: str
    amount: int
    max_payments: int | None
    expires_at: int
    token: str = ""
    status: str = "active"
    payments: int = 0
    paid: int = 0

    @property
    def is_paid(self) -> bool:
        """Whether it has all its payments."""
        return self.payments == self.max_payments

    def count(self, minor: int, *, in_time: bool) -> None:
        """A payment counts; the last one, in time, completes the link."""
        last = not self.is_paid
        self.paid += minor
        if self.max_payments is None or self.payments < self.max_payments:
            self.payments += 1
        if in_time and last and self.status in {"active", "expired"} and self.is_paid:
            self.status = "completed"


@dataclass
class Payment:
    """A transaction, and where all the money is that came by it.

    `amount` was asked for, or came unasked. `unapplied` waits for a decision; `credited` was ever the merchant's. Of each,
    some
    is in refunds under way and some was given back: `apart_returning` and `apart_given`, `returning` and `given`.
    """

    payment_id: str
    link: Link
    amount: int
    status: str = "pending"
    received: int = 0
    unapplied: int = 0
    apart_returning: int = 0
    apart_given: int = 0
    credited: int = 0
    returning: int = 0
    given: int = 0
    fee: int = 0
    charged_back: int = 0
    reason: str | None = None
    late: bool = False
    dispute: str | None = None

    @property
    def kept(self) -> int:
        """What is the merchant's still."""
        return max(0, self.credited - self.given - self.returning - self.charged_back)

    @property
    def disputable(self) -> int:
        """What a dispute can take: whatever came, also if it was given back, but not what waits for a decision."""
        return max(0, self.received - (self.unapplied - self.apart_returning) - self.charged_back)

    @property
    def refundable(self) -> int:
        """What can be refunded beside what is under way."""
        return self.kept + self.unapplied - self.apart_returning

    @property
    def left(self) -> int:
        """What the customer still owes; where it has paid, all of it again."""
        return max(0, self.amount - self.received) or self.amount

    def receive(self, minor: int) -> None:
        """Money arrives, and is kept apart at first."""
        self.received += minor
        self.unapplied += minor

    def wait(self, minor: int, reason: str) -> None:
        """A payment that begins with money nobody asked for."""
        self.receive(minor)
        self.require_decision(reason)

    def require_decision(self, reason: str) -> None:
        """The money waits for the merchant."""
        self.status, self.reason = "refund_required", reason
        self.late = self.late or reason == "late"

    def settle(self) -> None:
        """The state that the amounts make."""
        if self.charged_back:
            self.status = "chargeback"
        elif not self.credited:
            self.status = "refund_required" if self.unapplied else "refunded"
        elif not self.given:
            self.status = "succeeded"
        else:
            whole = self.given + self.apart_given == self.received
            self.status = "refunded" if whole else "partially_refunded"


@dataclass
class Refund:
    """Money on its way back. `unapplied` of it was never the merchant's; once `accepted`, only the rail can end it.

    The `network_fee` is set aside beside it. To another account than the one that paid it is reviewed, and counts on its
    `day` like a withdrawal.
    """

    refund_id: str
    payment: Payment
    amount: int
    unapplied: int
    status: str = "pending"
    network_fee: int = 0
    accepted: bool = False
    review: str = "not_required"
    day: int | None = None
    uses: list[Use] = field(default_factory=list[Use])

    @property
    def own(self) -> int:
        """What of it is the merchant's."""
        return self.amount - self.unapplied

    @property
    def held(self) -> int:
        """What is set aside for it."""
        return self.own + self.network_fee
