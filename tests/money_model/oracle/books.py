"""The books of one history, kept by the rules of the house: its payments here, and everything else beside them.

A refusal is raised as `RefusedError`; whoever asked then takes the books as they were before.
"""

from dataclasses import dataclass, field

from tests.money_model.oracle.balance_payments import BalancePayments
from tests.money_model.oracle.balances import SHOP, Fee, Purse, RefusedError, empty_purses
from tests.money_model.oracle.conversions import Conversions, Pair
from tests.money_model.oracle.conversions import Terms as ConversionTerms
from tests.money_model.oracle.fulfillments import Fulfillments
from tests.money_model.oracle.limits import Limits, give_back
from tests.money_model.oracle.payments import Link, Payment, Policy, Refund
from tests.money_model.oracle.withdrawals import Terms as WithdrawalTerms
from tests.money_model.oracle.withdrawals import Withdrawals

REFUNDS_MAX, FLOOR_IN_FEES = 20, 5
"""How many refunds of a payment there are, and how many network fees a part of it is at least."""

SIX_O_CLOCK = 21_600
"""When every history begins, on its first day: no sum of the clock's steps ends just before a midnight."""


@dataclass(frozen=True)
class Prices:
    """What things cost: payments, withdrawals from each purse, conversions."""

    payments: dict[str, Fee]
    withdrawals: dict[str, dict[str, WithdrawalTerms]]
    conversions: dict[Pair, ConversionTerms]


@dataclass
class Books:
    """Everything of one merchant, and what is between it and its partner. `clock` is in seconds since the first midnight."""

    policy: Policy
    prices: Prices
    purses: dict[str, Purse] = field(default_factory=empty_purses)
    links: list[Link] = field(default_factory=list[Link])
    payments: list[Payment] = field(default_factory=list[Payment])
    refunds: list[Refund] = field(default_factory=list[Refund])
    clock: int = SIX_O_CLOCK

    def __post_init__(self) -> None:
        self.balances = self.purses[SHOP]
        self.fees = self.prices.payments
        self.limits = Limits(self.clock)
        self.withdrawals = Withdrawals(self.purses, self.prices.withdrawals, self.limits)
        self.conversions = Conversions(self.balances, self.prices.conversions, self.limits)
        self.balance_payments = BalancePayments(self.purses, self.limits)
        self.fulfillments = Fulfillments(self.balances["EUR"], self.limits)

    def standing(self, link: Link) -> str:
        """The status of a link at this moment."""
        return "expired" if link.status == "active" and self.clock >= link.expires_at else link.status

    def shown(self, payment: Payment) -> str:
        """The status of a payment at this moment: an attempt without money is over when its link is."""
        over = payment.status == "pending" and not payment.received
        return "expired" if over and self.standing(payment.link) in {"expired", "completed"} else payment.status

    def is_open(self, payment: Payment) -> bool:
        """Whether it may still succeed or fail."""
        return self.shown(payment) in {"pending", "processing"}

    def require_open(self, payment: Payment) -> None:
        """Refuse where it is over."""
        if not self.is_open(payment):
            raise RefusedError("invalid_state")

    def begin(self, link: Link, minor: int | None = None) -> Payment:
        """A customer begins to pay; where money came unasked, that much."""
        self.payments.append(Payment("", link, minor or link.amount))
        return self.payments[-1]

    def arrive(self, payment: Payment, minor: int) -> Payment:
        """Money is there for good; the payment that it belongs to."""
        link = payment.link
        standing = self.standing(link)
        if standing == "expired" and link.is_paid:
            standing = "completed"
        if payment.status in {"succeeded", "partially_refunded", "refunded", "chargeback"}:
            unmatched = self.begin(link, minor)
            unmatched.wait(minor, {"expired": "late", "canceled": "after_cancel"}.get(standing, "duplicate"))
            return unmatched
        if payment.status == "refund_required":
            payment.receive(minor)
            return payment
        payment.receive(minor)
        enough = payment.received >= max(1, payment.amount - payment.amount * self.policy.tolerance_bps // 10_000)
        honoured = payment.status == "processing" and standing in {"expired", "canceled"}
        if payment.status in {"pending", "processing"} and (standing == "active" or honoured):
            if enough:
                self._credit(payment, in_time=True)
            else:
                payment.status = "pending"
            return payment
        reason = {"completed": "duplicate", "canceled": "after_cancel"}.get(standing, "late")
        if reason == "late" and enough and self.policy.late_payments == "accept":
            payment.late = True
            self._credit(payment, in_time=False)
        else:
            payment.require_decision(reason)
        return payment

    def accept(self, payment: Payment) -> None:
        """The merchant takes what waits for its decision."""
        waits = (
            payment.status in {"refund_required", "succeeded", "partially_refunded", "chargeback"} and payment.unapplied > 0
        )
        if not waits or payment.apart_returning:
            raise RefusedError("invalid_state")
        taken, first = payment.unapplied, not payment.credited
        fee = max(payment.fee, self.fees[payment.link.currency].of(payment.credited + taken))
        self.balances[payment.link.currency].be_paid(taken, fee - payment.fee)
        payment.fee, payment.credited, payment.unapplied = fee, payment.credited + taken, 0
        payment.settle()
        if first:
            payment.link.count(taken, in_time=self.standing(payment.link) == "active")

    def fail(self, payment: Payment, reason: str = "underpaid") -> None:
        """An attempt is declined; money that came before waits for the merchant."""
        if payment.received:
            payment.require_decision(reason)
        else:
            payment.status = "failed"

    def be_seen(self, payment: Payment) -> None:
        """Money is on its way."""
        if payment.status == "pending" and self.standing(payment.link) == "active":
            payment.status = "processing"

    def cancel(self, link: Link) -> None:
        """The merchant cancels a link."""
        if link.status == "canceled":
            return
        if self.standing(link) != "active":
            raise RefusedError("invalid_state")
        link.status = "canceled"
        for payment in self.payments:
            if payment.link is link and payment.status == "pending":
                self.fail(payment, "after_cancel")

    def expire(self, link: Link) -> None:
        """The link's time is over, and somebody writes it down."""
        if link.status != "active":
            raise RefusedError("invalid_state")
        link.status = "expired"
        for payment in self.payments:
            if payment.link is link and payment.status == "pending":
                self.end(payment)

    def end(self, payment: Payment) -> None:
        """A pending attempt ends with its link."""
        if payment.received:
            reasons = {"completed": "duplicate", "canceled": "after_cancel"}
            payment.require_decision(reasons.get(payment.link.status, "underpaid"))
        else:
            payment.status = "expired"

    def advance(self, seconds: int) -> None:
        """Time passes, and links whose time is over are written down."""
        self.clock += seconds
        self.limits.clock = self.clock
        for link in self.links:
            if link.status == "active" and self.standing(link) == "expired":
                self.expire(link)

    def sweep(self) -> None:
        """The worker ends what was partly paid when its link ended otherwise."""
        for payment in self.payments:
            if payment.status == "pending" and payment.received and payment.link.status != "active":
                self.end(payment)

    def refund(self, payment: Payment, minor: int | None, *, elsewhere: bool = False) -> Refund:
        """Set money aside to be given back: first what was never the merchant's. `elsewhere`: to who has not paid."""
        if payment.status == "chargeback":
            raise RefusedError("payment_charged_back")
        if payment.status not in {"succeeded", "partially_refunded", "refund_required"}:
            raise RefusedError("refund_not_allowed")
        if minor not in {None, payment.refundable} and self._counted(payment) >= REFUNDS_MAX:
            raise RefusedError("refund_limit_reached")
        minor = minor or payment.refundable
        if not 0 < minor <= payment.refundable:
            raise RefusedError("refund_amount_exceeds_remaining")
        currency = payment.link.currency
        if elsewhere:
            self.withdrawals.ensure_amount(SHOP, currency, minor)
        fee = self.withdrawals.terms[SHOP][currency].network_fee
        if minor != payment.refundable and minor < FLOOR_IN_FEES * fee:
            raise RefusedError("amount_below_minimum")
        unapplied = min(minor, payment.unapplied - payment.apart_returning)
        if minor == unapplied:
            fee = 0
        elif fee and minor <= fee:
            raise RefusedError("amount_below_fees")
        refund = Refund("", payment, minor, unapplied, network_fee=fee)
        self.balances[currency].hold(refund.held, "refunds")
        refund.uses = self.limits.spend("refunds", currency, minor + fee)
        if elsewhere:
            refund.uses += self.limits.spend("withdrawals", currency, minor + fee, to_ours=False)
            refund.review, refund.day = "required", self.withdrawals.count(SHOP, currency, minor, self.clock)
        payment.apart_returning += unapplied
        payment.returning += minor - unapplied
        self.refunds.append(refund)
        return refund

    def end_refund(self, refund: Refund, *, paid: bool) -> None:
        """The rail says how a refund ended."""
        if refund.status != "pending":
            raise RefusedError("invalid_state")
        payment, balance = refund.payment, self.balances[refund.payment.link.currency]
        payment.apart_returning -= refund.unapplied
        payment.returning -= refund.own
        if paid:
            refund.status = "succeeded"
            balance.take(refund.held, "refunds")
            payment.unapplied -= refund.unapplied
            payment.apart_given += refund.unapplied
            payment.given += refund.own
        else:
            refund.status = "failed"
            balance.release(refund.held, "refunds")
            self._uncount(refund)
            give_back(refund.uses)
        payment.settle()

    def review_refund(self, refund: Refund, *, approved: bool) -> None:
        """An operator lets a refund go, or keeps it here."""
        if refund.status != "pending" or (approved and refund.review != "required") or refund.accepted:
            raise RefusedError("invalid_state")
        refund.review = "approved" if approved else "rejected"
        if not approved:
            self.end_refund(refund, paid=False)

    def _counted(self, payment: Payment) -> int:
        return sum(refund.payment is payment and refund.status in {"pending", "succeeded"} for refund in self.refunds)

    def _uncount(self, refund: Refund) -> None:
        if refund.day is not None:
            self.withdrawals.days[SHOP, refund.payment.link.currency, refund.day] -= refund.amount

    def return_refund(self, refund: Refund) -> None:
        """The bank returns a refund that had succeeded."""
        if refund.status != "succeeded":
            raise RefusedError("invalid_state")
        payment = refund.payment
        refund.status = "failed"
        self._uncount(refund)
        give_back(refund.uses)
        self.balances[payment.link.currency].credit(refund.own)
        payment.given -= refund.own
        payment.apart_given -= refund.unapplied
        payment.unapplied += refund.unapplied
        payment.settle()

    def charge_back(self, payment: Payment, minor: int | None) -> None:
        """The customer's bank takes back what came, refunded or not, for a fee; refunds that no rail has accepted fail."""
        dropped = [
            refund
            for refund in self.refunds
            if refund.payment is payment and refund.status == "pending" and not refund.accepted
        ]
        at_most = payment.disputable - sum(refund.unapplied for refund in dropped)
        if payment.status not in {"succeeded", "partially_refunded", "refunded", "refund_required"} or at_most <= 0:
            raise RefusedError("invalid_state")
        for refund in dropped:
            self.end_refund(refund, paid=False)
        payment.charged_back = min(minor or payment.kept or payment.disputable, payment.disputable)
        payment.dispute = "open"
        self.balances[payment.link.currency].charge(payment.charged_back + self.fees[payment.link.currency].dispute)
        payment.settle()

    def decide(self, payment: Payment, *, won: bool) -> None:
        """The dispute ends: won, the money comes back, and the fee does not."""
        if payment.dispute != "open":
            raise RefusedError("invalid_state")
        payment.dispute = "won" if won else "lost"
        if won:
            self.balances[payment.link.currency].credit(payment.charged_back)
            payment.charged_back = 0
            payment.settle()

    def _credit(self, payment: Payment, *, in_time: bool) -> None:
        excess = max(0, payment.received - payment.amount)
        payment.unapplied = excess if self.policy.overpayment == "refund_required" else 0
        payment.credited = payment.received - payment.unapplied
        payment.fee = self.fees[payment.link.currency].of(payment.credited)
        payment.status, payment.reason = "succeeded", None
        self.balances[payment.link.currency].be_paid(payment.credited, payment.fee)
        payment.link.count(payment.credited, in_time=in_time)
