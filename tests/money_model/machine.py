"""The machine: what may happen to a merchant's money, in any order; after every step the balances are those of the books."""

from typing import ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.money_model.books import DECIMALS
from tests.money_model.ground import Ground
from tests.money_model.history import History, spelt
from tests.money_model.payments import Link, Payment, Policy
from tests.money_model.simulating import TELLING, simulate
from tollhouse.payments import jobs

CHECK_EVERY = 20
LINK_LIVES_S = 86_400
CURRENCIES = st.sampled_from(sorted(DECIMALS))
TELLING_AMOUNTS = st.sampled_from([before * 10_000 + last for before in range(6) for last in TELLING])
AMOUNTS = st.integers(1, 100_000) | st.integers(1, 100_000) | TELLING_AMOUNTS
PARTS = st.none() | st.integers(1, 50_000)
"""Some amount that may fit or not; none: the usual one."""
PICK = st.integers(0, 2**12)
"""Which of those there are: the number is folded to their count."""
ANY = 8
"""One pick of so many is of all, whether or not the deed fits."""
POLICIES = st.builds(
    Policy,
    st.sampled_from([50, 0, 500]),
    st.sampled_from(["credit", "refund_required"]),
    st.sampled_from(["refund_required", "accept"]),
)
T = TypeVar("T")
OPEN, PAID = {"pending", "processing"}, {"succeeded", "partially_refunded"}


class MoneyMachine(RuleBasedStateMachine):
    """One history of one merchant."""

    ground: ClassVar[Ground]
    history: History

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @initialize(policy=POLICIES, currency=CURRENCIES, amount=AMOUNTS)
    def open_shop(self, policy: Policy, currency: str, amount: int) -> None:
        self.history = History(self.ground, policy)
        self._open(currency, amount, 1)
        self._open("EUR", 4_200, None)
        self._new_customer(ANY, "succeed", None)

    @rule(currency=CURRENCIES, amount=AMOUNTS, max_payments=st.sampled_from([1, 1, 2, None]))
    def open_link(self, currency: str, amount: int, max_payments: int | None) -> None:
        self._open(currency, amount, max_payments)

    @rule(pick=PICK)
    def cancel_link(self, pick: int) -> None:
        link = self._link(pick)
        self.history.ask(f"/payment-links/{link.link_id}/cancel", {}, lambda: self.history.books.cancel(link))
        self.history.same_link(self._link(pick))

    @rule(pick=PICK)
    def choose(self, pick: int) -> None:
        """A customer chooses how to pay, and does not pay yet."""
        link = self._link(pick)
        if self.history.books.standing(link) == "active":
            self.history.books.begin(link)
        back = self.history.counter.form(f"/pay/{link.token}/method", {"method_id": f"sandbox:{link.currency}"})
        self.history.learn_names(back.partition("?payment=")[2] or None)

    @rule(pick=PICK, outcome=st.sampled_from(["succeed", "succeed", "overpay", "duplicate", "chargeback"]))
    def pay(self, pick: int, outcome: str) -> None:
        """A new customer pays, perhaps more than asked, perhaps twice, perhaps with regret."""
        self._new_customer(pick, outcome, None)

    @rule(pick=PICK, outcome=st.sampled_from(["fail", "processing", "expire"]))
    def come_and_go(self, pick: int, outcome: str) -> None:
        """A new customer brings no money yet."""
        self._new_customer(pick, outcome, None)

    @rule(pick=PICK, part=PARTS)
    def underpay(self, pick: int, part: int | None) -> None:
        self._new_customer(pick, "underpay", part)

    @rule(pick=PICK, part=PARTS)
    def pay_late(self, pick: int, part: int | None) -> None:
        self._simulate(self._payment(pick, {"pending", "expired", "failed"}), "late", part)

    @rule(pick=PICK, part=PARTS, outcome=st.sampled_from(["succeed", "succeed", "underpay", "overpay"]))
    def top_up(self, pick: int, part: int | None, outcome: str) -> None:
        """More money comes for an attempt that has begun."""
        self._simulate(self._payment(pick, OPEN), outcome, part)

    @rule(pick=PICK, part=PARTS)
    def pay_again(self, pick: int, part: int | None) -> None:
        self._simulate(self._payment(pick, PAID | OPEN), "duplicate", part)

    @rule(pick=PICK, outcome=st.sampled_from(["fail", "processing", "processing", "expire"]))
    def bring_nothing(self, pick: int, outcome: str) -> None:
        """An attempt that has begun is declined, seen on its way, or too late."""
        self._simulate(self._payment(pick, OPEN), outcome, None)

    @rule(pick=PICK, part=PARTS)
    def charge_back(self, pick: int, part: int | None) -> None:
        self._prepare(PAID, pick, "succeed")
        self._simulate(self._payment(pick, PAID), "chargeback", part)

    @rule(pick=PICK, outcome=st.sampled_from(["chargeback_won", "chargeback_lost"]))
    def decide(self, pick: int, outcome: str) -> None:
        self._prepare({"chargeback"}, pick, "chargeback")
        disputed = {payment.payment_id for payment in self.history.books.payments if payment.dispute == "open"}
        payments = self.history.books.payments
        fitting = [payment for payment in payments if payment.payment_id in disputed]
        self._simulate(self._one_of(fitting, payments, pick), outcome, None)

    @rule(pick=PICK)
    def accept(self, pick: int) -> None:
        self._prepare({"refund_required"}, pick, "duplicate")
        waiting = [payment for payment in self.history.books.payments if payment.apart and payment.status not in OPEN]
        payment = self._one_of(waiting, self.history.books.payments, pick)
        if payment is not None:
            path = f"/transactions/{payment.payment_id}/accept"
            self.history.ask(path, {}, lambda: self.history.books.accept(payment))

    @rule(pick=PICK, part=PARTS)
    def refund(self, pick: int, part: int | None) -> None:
        self._prepare(PAID, pick, "succeed")
        self._refund(self._payment(pick, PAID | {"refund_required"}), part)

    @rule(pick=PICK, part=PARTS, outcome=st.sampled_from(["succeed", "succeed", "fail", "return"]))
    def refund_to_the_end(self, pick: int, part: int | None, outcome: str) -> None:
        self.refund(pick, part)
        self._end_refund(pick, outcome)

    @rule(pick=PICK, outcome=st.sampled_from(["succeed", "succeed", "fail", "return"]))
    def end_refund(self, pick: int, outcome: str) -> None:
        self._end_refund(pick, outcome)

    @rule()
    def carry_refunds(self) -> None:
        """The worker hands refunds in, and looks what became of those it handed in before: time alone tells which.

        So no rule may be possible or not for what this does: a history has to play the same when it is played again.
        """
        self.ground.work(jobs.carry_refunds)
        pending = [refund for refund in self.history.books.refunds if refund.status == "pending"]
        if pending:
            refunds = self.history.every("refunds")
            for refund in pending:
                shown = refunds[refund.refund_id]
                refund.accepted = shown["provider_reference"] is not None
                if shown["status"] != "pending":
                    self.history.books.end_refund(refund, paid=shown["status"] == "succeeded")

    @rule(currency=CURRENCIES, amount=AMOUNTS)
    def fund(self, currency: str, amount: int) -> None:
        body = {"currency": currency, "amount": spelt(amount, currency)}
        self.history.ask("/test/balances/fund", body, lambda: self.history.books.balances[currency].credit(amount))

    @rule(seconds=st.sampled_from([5_000, 5_000, 100_000]))
    def advance_clock(self, seconds: int) -> None:
        """No sum of these comes near the end of a link."""
        self.history.ask("/test/clock/advance", {"seconds": seconds}, lambda: self.history.books.advance(seconds))

    @rule()
    def close_links(self) -> None:
        """The worker writes down what is over."""
        self.ground.work(jobs.close_links)
        self.history.books.sweep()

    @rule(pick=PICK)
    def replay(self, pick: int) -> None:
        self.history.replay(self.history.sent[pick % len(self.history.sent)])

    @rule(pick=PICK)
    def reuse_key(self, pick: int) -> None:
        self.history.reuse(self.history.sent[pick % len(self.history.sent)])

    @invariant()
    def service_and_books_agree(self) -> None:
        self.history.same_balances()
        self.steps += 1
        if self.steps % CHECK_EVERY == 0:
            self.history.same_everything()
            assert not self.ground.broken_invariants()

    def _open(self, currency: str, amount: int, max_payments: int | None) -> None:
        books = self.history.books
        link = Link("", currency, amount, max_payments, books.clock + LINK_LIVES_S)
        price = {"amount": spelt(amount, currency), "currency": currency}
        body = {"display_name": "Coffee", "max_payments": max_payments, **price}
        made = self.history.ask("/payment-links", body, lambda: books.links.append(link))
        link.link_id, link.token = made["id"], made["url"].rpartition("/")[2]

    def _refund(self, payment: Payment | None, part: int | None) -> None:
        if payment is None:
            return
        books = self.history.books
        body = {} if part is None else {"amount": spelt(part, payment.link.currency)}
        path = f"/transactions/{payment.payment_id}/refunds"
        made = self.history.ask(path, body, lambda: books.refund(payment, part))
        if made is not None:
            refund = books.refunds[-1]
            refund.refund_id = made["id"]
            assert (made["status"], made["amount_minor"]) == ("pending", refund.amount)

    def _end_refund(self, pick: int, outcome: str) -> None:
        books = self.history.books
        fitting = [
            one for one in books.refunds if one.status == "pending" or (one.status, outcome) == ("succeeded", "return")
        ]
        refund = self._one_of(fitting, books.refunds, pick)
        if refund is None:
            return

        def deed() -> None:
            if outcome != "return" or refund.status == "pending":
                books.end_refund(refund, paid=outcome != "fail")
            if outcome == "return":
                books.return_refund(refund)

        self.history.ask(f"/test/refunds/{refund.refund_id}/simulate", {"outcome": outcome}, deed)

    def _prepare(self, statuses: set[str], pick: int, outcome: str) -> None:
        """Mostly see to it that there is a payment of such a status."""
        if (pick + 1) % ANY and not any(payment.status in statuses for payment in self.history.books.payments):
            self._new_customer(pick, outcome, None)

    def _new_customer(self, pick: int, outcome: str, part: int | None) -> None:
        link, books = self._link(pick), self.history.books
        body = {"outcome": outcome} | ({} if part is None else {"amount": spelt(part, link.currency)})
        path = f"/test/payment-links/{link.link_id}/simulate"
        made = self.history.ask(path, body, lambda: simulate(books, books.begin(link), outcome, part))
        self.history.learn_names(None if made is None else made["id"])

    def _simulate(self, payment: Payment | None, outcome: str, part: int | None) -> None:
        if payment is None:
            return
        books = self.history.books
        body = {"outcome": outcome} | ({} if part is None else {"amount": spelt(part, payment.link.currency)})
        path = f"/test/transactions/{payment.payment_id}/simulate"
        shown = self.history.ask(path, body, lambda: simulate(books, payment, outcome, part))
        self.history.learn_names()
        if shown is not None:
            self.history.same_payment(payment, shown)

    def _link(self, pick: int) -> Link:
        books = self.history.books
        link = self._one_of([link for link in books.links if books.standing(link) == "active"], books.links, pick)
        assert link is not None
        return link

    def _payment(self, pick: int, statuses: set[str]) -> Payment | None:
        payments = self.history.books.payments
        return self._one_of([payment for payment in payments if payment.status in statuses], payments, pick)

    def _one_of(self, fitting: list[T], every: list[T], pick: int) -> T | None:
        """Mostly one that fits, sometimes any; none where there is none."""
        some = fitting if fitting and (pick + 1) % ANY else every
        return some[pick // ANY % len(some)] if some else None
