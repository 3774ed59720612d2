"""What customers, their banks and the merchant do: links, payments, disputes and refunds."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.picking import AMOUNTS, CURRENCIES, PARTS, PICK, Actions, mostly
from tests.money_model.history import spelt
from tests.money_model.oracle.balances import SHOP
from tests.money_model.oracle.payments import Link, Payment
from tests.money_model.oracle.simulating import simulate
from tollhouse.payments.refunds import jobs as refunds_jobs
from tollhouse.payments.transactions import link_closing as transactions_jobs

LINK_LIVES_S = 86_400
OPEN, PAID = {"pending", "processing"}, {"succeeded", "partially_refunded"}


class PaymentActions(Actions):
    """Payments by links, until all of their money has found its place."""

    @rule(currency=CURRENCIES, amount=AMOUNTS, max_payments=st.sampled_from([1, 1, 2, None]))
    def open_link(self, currency: str, amount: int, max_payments: int | None) -> None:
        self.open(currency, amount, max_payments)

    @rule(pick=PICK)
    def cancel_link(self, pick: int) -> None:
        link = self._link(pick)
        self.history.request(f"/payment-links/{link.link_id}/cancel", {}, lambda: self.books.cancel(link))
        self.history.same_link(self._link(pick))

    @rule(pick=PICK)
    def choose(self, pick: int) -> None:
        """A customer chooses how to pay, and does not pay yet. A link that is paid once has one open attempt at a time."""
        link = self._link(pick)
        open_ones = [payment for payment in self.books.payments if payment.link is link and payment.status in OPEN]
        if self.books.standing(link) == "active" and not (open_ones and link.max_payments == 1):
            self.books.begin(link)
        back = self.history.counter.form(f"/pay/{link.token}/method", {"method_id": f"sandbox:{link.currency}"})
        self.history.learn_names(back.partition("?payment=")[2] or None)

    @rule(pick=PICK, outcome=st.sampled_from(["succeed", "succeed", "overpay", "duplicate", "chargeback"]))
    def pay(self, pick: int, outcome: str) -> None:
        """A new customer pays, perhaps more than asked, perhaps twice, perhaps with regret."""
        self.new_customer(pick, outcome, None)

    @rule(pick=PICK, outcome=st.sampled_from(["fail", "processing", "expire"]))
    def come_and_go(self, pick: int, outcome: str) -> None:
        """A new customer brings no money yet."""
        self.new_customer(pick, outcome, None)

    @rule(pick=PICK, part=PARTS)
    def underpay(self, pick: int, part: int | None) -> None:
        self.new_customer(pick, "underpay", part)

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
        self._simulate(self._payment(pick, PAID | {"refunded", "refund_required"}), "chargeback", part)

    @rule(pick=PICK, outcome=st.sampled_from(["chargeback_won", "chargeback_lost"]))
    def decide(self, pick: int, outcome: str) -> None:
        self._prepare({"chargeback"}, pick, "chargeback")
        disputed = {payment.payment_id for payment in self.books.payments if payment.dispute == "open"}
        payments = self.books.payments
        fitting = [payment for payment in payments if payment.payment_id in disputed]
        self._simulate(self.one_of(fitting, payments, pick), outcome, None)

    @rule(pick=PICK)
    def accept(self, pick: int) -> None:
        self._prepare({"refund_required"}, pick, "duplicate")
        waiting = [payment for payment in self.books.payments if payment.unapplied and payment.status not in OPEN]
        payment = self.one_of(waiting, self.books.payments, pick)
        if payment is not None:
            path = f"/transactions/{payment.payment_id}/accept"
            self.history.request(path, {}, lambda: self.books.accept(payment))

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

    @rule(pick=PICK, part=PARTS)
    def refund_elsewhere(self, pick: int, part: int | None) -> None:
        """To another account than the one that paid: it waits for an operator."""
        self._prepare(PAID, pick, "succeed")
        self._refund(self._payment(pick, PAID | {"refund_required"}), part, elsewhere=True)

    @rule(pick=PICK, approved=st.booleans())
    def review_refund(self, pick: int, approved: bool) -> None:
        books, backstage = self.books, self.history.backstage
        fitting = [refund for refund in books.refunds if refund.status == "pending" and refund.review == "required"]
        refund = self.one_of(fitting, books.refunds, pick)
        if refund is not None:
            self.history.let(
                lambda: backstage.review_refund(refund.refund_id, approved=approved),
                lambda: books.review_refund(refund, approved=approved),
                SHOP,
            )

    @rule()
    def submit_refunds(self) -> None:
        """The worker hands refunds in, and looks what became of those it handed in before: time alone tells which.

        So no rule may be possible or not for what this does: a history has to play the same when it is played again.
        """
        self.history.backstage.work(refunds_jobs.submit_refunds)
        pending = [refund for refund in self.books.refunds if refund.status == "pending"]
        if pending:
            refunds = self.history.every("refunds")
            for refund in pending:
                shown = refunds[refund.refund_id]
                refund.accepted = shown["provider_reference"] is not None
                if shown["status"] != "pending":
                    self.books.end_refund(refund, paid=shown["status"] == "succeeded")

    @rule()
    def close_links(self) -> None:
        """The worker writes down what is over."""
        self.history.backstage.work(transactions_jobs.close_links)
        self.books.sweep()

    def open(self, currency: str, amount: int, max_payments: int | None) -> None:
        books = self.books
        link = Link("", currency, amount, max_payments, books.clock + LINK_LIVES_S)
        price = {"amount": spelt(amount, currency), "currency": currency}
        body = {"display_name": "Coffee", "max_payments": max_payments, **price}
        made = self.history.request("/payment-links", body, lambda: books.links.append(link))
        link.link_id, link.token = made["id"], made["url"].rpartition("/")[2]

    def _refund(self, payment: Payment | None, part: int | None, *, elsewhere: bool = False) -> None:
        if payment is None:
            return
        books = self.books
        body = {} if part is None else {"amount": spelt(part, payment.link.currency)}
        if elsewhere:
            body["receiver"] = "Nina"
        path = f"/transactions/{payment.payment_id}/refunds"
        made = self.history.request(path, body, lambda: books.refund(payment, part, elsewhere=elsewhere))
        if made is not None:
            refund = books.refunds[-1]
            refund.refund_id = made["id"]
            assert (made["status"], made["amount_minor"], made["review"]) == ("pending", refund.amount, refund.review)

    def _end_refund(self, pick: int, outcome: str) -> None:
        books = self.books
        fitting = [
            refund
            for refund in books.refunds
            if refund.status == "pending" or (refund.status, outcome) == ("succeeded", "return")
        ]
        refund = self.one_of(fitting, books.refunds, pick)
        if refund is None:
            return

        def action() -> None:
            if refund.status == "pending" and refund.review == "required":
                refund.review = "approved"
            if outcome != "return" or refund.status == "pending":
                books.end_refund(refund, paid=outcome != "fail")
            if outcome == "return":
                books.return_refund(refund)

        self.history.request(f"/test/refunds/{refund.refund_id}/simulate", {"outcome": outcome}, action)

    def _prepare(self, statuses: set[str], pick: int, outcome: str) -> None:
        """Mostly see to it that there is a payment of such a status."""
        if mostly(pick) and not any(payment.status in statuses for payment in self.books.payments):
            self.new_customer(pick, outcome, None)

    def new_customer(self, pick: int, outcome: str, part: int | None) -> None:
        link, books = self._link(pick), self.books
        body = {"outcome": outcome} | ({} if part is None else {"amount": spelt(part, link.currency)})
        path = f"/test/payment-links/{link.link_id}/simulate"
        made = self.history.request(path, body, lambda: simulate(books, books.begin(link), outcome, part))
        self.history.learn_names(None if made is None else made["id"])

    def _simulate(self, payment: Payment | None, outcome: str, part: int | None) -> None:
        if payment is None:
            return
        books = self.books
        body = {"outcome": outcome} | ({} if part is None else {"amount": spelt(part, payment.link.currency)})
        path = f"/test/transactions/{payment.payment_id}/simulate"
        shown = self.history.request(path, body, lambda: simulate(books, payment, outcome, part))
        self.history.learn_names()
        if shown is not None:
            self.history.same_payment(payment, shown)

    def _link(self, pick: int) -> Link:
        books = self.books
        link = self.one_of([link for link in books.links if books.standing(link) == "active"], books.links, pick)
        assert link is not None
        return link

    def _payment(self, pick: int, statuses: set[str]) -> Payment | None:
        payments = self.books.payments
        return self.one_of([payment for payment in payments if payment.status in statuses], payments, pick)
