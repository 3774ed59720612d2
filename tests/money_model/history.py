"""One merchant's history: what is asked of the service is told to the books too, and both must come to the same."""

import pickle
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from tests.money_model.books import DECIMALS, Books
from tests.money_model.counter import Reply, Sent
from tests.money_model.ground import FEES, Ground, Merchant
from tests.money_model.payments import Link, Payment, Policy, RefusedError
from tollhouse.kernel.money import format_minor

STATUS = {"invalid_state": 409, "payment_charged_back": 409}
"""The status of a refusal; 422 where it is not here."""


class History:
    """The service and the books, side by side."""

    def __init__(self, ground: Ground, policy: Policy) -> None:
        self.ground = ground
        self.counter = ground.counter
        self.merchant: Merchant = ground.merchant()
        self.counter.serve(self.merchant.api_key)
        ground.set_policy(self.merchant, policy)
        self.books = Books(policy, FEES)
        self.sent: list[Sent] = []
        self.freed: list[str] = []

    def ask(self, path: str, body: dict[str, Any], deed: Callable[[], object]) -> Any:
        """POST with a key (a new one, or one that a refusal has freed), and do the deed in the books: the same answer.

        The body of the answer; None where both refuse.
        """
        before = pickle.dumps(self.books)
        try:
            deed()
        except RefusedError as refused:
            self.books = pickle.loads(before)  # noqa: S301 - our own
            expected = (refused.code, STATUS.get(refused.code, 422))
        else:
            expected = ("ok", 200)
        key = self.freed.pop() if self.freed else str(uuid4())
        reply = self.counter.post(path, body, key)
        found = (reply.outcome, 200 if reply.status == 201 else reply.status)
        assert found == expected, f"POST {path} {body}: {reply.raw.decode()}, in the books {expected[0]}"
        assert not reply.replayed
        if expected[0] != "ok":
            self.freed.append(key)
            return None
        self.sent.append(Sent(path, body, key, reply))
        return reply.body

    def learn_names(self, first: str | None = None) -> None:
        """The books know how many payments there are; the service names them. `first` is named in its answer."""
        nameless = [payment for payment in self.books.payments if not payment.payment_id]
        if nameless and first is not None:
            nameless.pop(0).payment_id = first
        if not nameless:
            return
        known = {payment.payment_id for payment in self.books.payments}
        shown = self.counter.get(f"/transactions?limit={len(nameless) + 1}")["transactions"]
        new = [one["id"] for one in reversed(shown) if one["id"] not in known]
        assert len(new) == len(nameless), f"{len(new)} new payments, in the books {len(nameless)}"
        for payment, payment_id in zip(nameless, new, strict=True):
            payment.payment_id = payment_id

    def same_link(self, link: Link, shown: dict[str, Any] | None = None) -> None:
        """A link is what the books say."""
        shown = self.counter.get(f"/payment-links/{link.link_id}") if shown is None else shown
        assert shown is not None
        kept = (self.books.standing(link), link.payments, link.paid)
        assert (shown["status"], shown["payments_count"], shown["amount_paid_minor"]) == kept

    def same_payment(self, payment: Payment, shown: dict[str, Any]) -> None:
        """A payment is what the books say."""
        kept = self._shown(payment)
        differs = {name: (shown[name], value) for name, value in kept.items() if shown[name] != value}
        assert not differs, f"payment {payment.payment_id}: (shown, in the books) {differs}"
        if payment.dispute is not None:
            dispute = shown["chargeback"]
            assert (dispute["status"], dispute["fee_minor"]) == (payment.dispute, FEES[payment.link.currency].dispute)

    def same_balances(self) -> None:
        """Every balance is what the books say."""
        shown = {one["currency"]: one for one in self.counter.get("/balances")["balances"]}
        for currency, balance in self.books.balances.items():
            one = shown[currency]
            found = [one[f"{name}_minor"] for name in ("available", "pending", "reserved", "debt", "total")]
            total = balance.available + balance.reserved - balance.debt
            assert found == [balance.available, 0, balance.reserved, balance.debt, total], f"{currency}: {found}, {balance}"
            assert one["reserved_breakdown"]["refunds_minor"] == balance.reserved

    def same_everything(self) -> None:
        """All links, payments and refunds are what the books say."""
        links, payments, refunds = (self.every(noun) for noun in ("payment-links", "transactions", "refunds"))
        assert len(links) == len(self.books.links)
        for link in self.books.links:
            self.same_link(link, links[link.link_id])
        assert len(payments) == len(self.books.payments)
        for payment in self.books.payments:
            self.same_payment(payment, payments[payment.payment_id])
        assert {name: one["status"] for name, one in refunds.items()} == {
            refund.refund_id: refund.status for refund in self.books.refunds
        }

    def every(self, noun: str) -> dict[str, Any]:
        """All of these that the service shows, by their ids."""
        found: dict[str, Any] = {}
        for page in range(1, 10):
            body = self.counter.get(f"/{noun}?limit=100&page={page}")
            found |= {one["id"]: one for one in body[noun.replace("-", "_")]}
            if not body["has_more"]:
                break
        return found

    def replay(self, sent: Sent) -> None:
        """The same request again is answered with the same bytes."""
        again: Reply = self.counter.post(sent.path, sent.body, sent.key)
        assert (again.status, again.raw, again.replayed) == (sent.reply.status, sent.reply.raw, True)

    def reuse(self, sent: Sent) -> None:
        """The key of an earlier request does not serve another one."""
        reply = self.counter.post(sent.path, sent.body | {"another": "body"}, sent.key)
        assert (reply.status, reply.outcome) == (422, "idempotency_key_reused")

    def _shown(self, payment: Payment) -> dict[str, Any]:
        status, refundable = self.books.shown(payment), payment.status in {
            "succeeded", "partially_refunded", "refund_required"
        }  # fmt: skip
        kept = {
            "status": status,
            "amount_received_minor": payment.received,
            "fee_minor": payment.fee,
            "net_minor": payment.credited - payment.fee,
            "amount_refunded_minor": payment.given + payment.apart_given,
            "refundable_amount_minor": payment.refundable if refundable else 0,
            "refund_required_amount_minor": 0 if payment.status in {"pending", "processing"} else payment.apart,
            "late": payment.late,
        }
        return kept | ({"refund_required_reason": payment.reason} if status == "refund_required" else {})


def spelt(minor: int, currency: str) -> str:
    """An amount as requests say it."""
    return format_minor(minor, DECIMALS[currency])
