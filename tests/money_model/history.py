"""One merchant's history: what is asked of the service is told to the books too, and both must come to the same."""

import pickle
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from tests.invariants import last_id
from tests.money_model.backstage import Backstage
from tests.money_model.counter import Reply, Sent
from tests.money_model.harness import PRICES, Connection, Harness, Merchant
from tests.money_model.oracle.balance_payments import OWNER, BalancePayment
from tests.money_model.oracle.balances import DECIMALS, GUEST, LIVE, SHOP, RefusedError
from tests.money_model.oracle.books import Books
from tests.money_model.oracle.conversions import Exchange
from tests.money_model.oracle.fulfillments import UNIT_PRICE, Fulfillment
from tests.money_model.oracle.limits import Credential
from tests.money_model.oracle.payments import Link, Payment, Policy
from tests.money_model.oracle.withdrawals import Withdrawal
from tollhouse.kernel.money import format_minor

STATUS = {
    "application_required": 403,
    "confidential_client_required": 403,
    "connection_limit_exceeded": 403,
    "conversion_rule_conflict": 409,
    "invalid_state": 409,
    "invalid_token": 401,
    "not_found": 404,
    "payment_charged_back": 409,
    "proposal_required": 403,
    "quote_already_used": 409,
    "quote_expired": 409,
}
"""The status of a refusal; 422 where it is not here."""

TILL = {SHOP: "the till for the shop", GUEST: "the till for the guest"}
"""Who asks, where a merchant's partner charges it by the token of an application."""

KEY, PROPOSER = "an agent's key", "a proposing agent's key"
CONNECTED = (TILL[SHOP], "the second till for the shop", "the third till for the shop")
"""The connections of one application, which are counted together."""
AGENTS = (KEY, PROPOSER, *CONNECTED)
STANDING = {"/withdrawal-schedules", "/conversion-rules"}
SPENDING = {"/withdrawals", "/conversions", "/fulfillments", "/balance-payments"} | STANDING


class History:
    """The service and the books, side by side."""

    def __init__(self, harness: Harness, policy: Policy) -> None:
        self.before = last_id()
        shop, guest = harness.partners()
        self.harness = harness
        self.counter = harness.counter
        self.backstage = Backstage(harness, shop)
        self.merchants: dict[str, Merchant] = {SHOP: shop, GUEST: guest}
        self.credentials = {SHOP: shop.api_key, LIVE: shop.live_key, GUEST: guest.api_key}
        self.credentials |= {KEY: shop.agent_key, PROPOSER: shop.proposer_key}
        self.desk = SHOP
        self.recipients: dict[str, str] = {}
        harness.set_policy(shop, policy)
        self.books = Books(policy, PRICES)
        self.books.limits.credentials |= {KEY: Credential(KEY), PROPOSER: Credential(PROPOSER, proposals_only=True)}
        for payer, merchant in self.merchants.items():
            self.be_connected(payer, merchant.connections)
        self.sent: list[Sent] = []
        self.freed: list[str] = []
        self.touched: set[str] = set()

    def request(self, path: str, body: dict[str, Any], action: Callable[[], object], by: str = SHOP) -> Any:
        """POST with a key (a new one, or one that a refusal has freed), and do the deed in the books: the same answer.

        The body of the answer; None where both refuse. Whoever is at the desk asks for what the shop spends.
        """
        by = self._asking(path, by)
        expected = self._tell(action, path, by)
        key = self.freed.pop() if self.freed else str(uuid4())
        reply = self.counter.post(path, body, self.credentials[by], key)
        status = 200 if expected == "ok" else STATUS.get(expected, 422)
        found = (reply.outcome, 200 if reply.status == 201 else reply.status)
        assert found == (expected, status), f"POST {path} {body}: {reply.raw.decode()}, in the books {expected}"
        assert not reply.replayed
        if self.details is not None:
            _same(reply.body["details"] | {"resets": reply.body["details"]["resets_at"] is not None}, **self.details)
        self.touched |= {by} & set(self.books.purses) or set(self.merchants)
        if expected != "ok":
            self.freed.append(key)
            return None
        self.sent.append(Sent(by, path, body, key, reply))
        return reply.body

    def let(self, happen: Callable[[], str], action: Callable[[], object], *purses: str) -> bool:
        """What nobody asks for at the counter happens, and is told to the books: with the same outcome. Whether it could."""
        expected, found = self._tell(action), happen()
        assert found == expected, f"{found}, in the books {expected}"
        self.touched.update(purses)
        return expected == "ok"

    def be_connected(self, payer: str, connections: tuple[Connection, ...]) -> None:
        """The partner's application may charge this merchant from now on."""
        self.merchants[payer] = self.merchants[payer]._replace(connections=connections)
        self.credentials[TILL[payer]] = connections[0].token
        if payer == SHOP:
            for name, connection in zip(CONNECTED, connections, strict=True):
                self.credentials[name] = connection.token
                self.books.limits.replace(name, Credential("the application"))

    def own_id(self, name: str) -> str:
        """The ID of a key."""
        return self._get("/account", name)["api_key_id"]

    def same_limits(self) -> None:
        """What the limits of every key and connection leave is what the books say."""
        for name, one in self.books.limits.credentials.items():
            if one.is_alive and one.terms.bounds:
                shown = {(limit["kind"], limit["currency"]): limit for limit in self._get("/account", name)["limits"]}
                for bound in one.terms.bounds:
                    left = {
                        f"per_{period}_remaining_minor": max(0, minor)
                        for period, _, minor in self.books.limits.left(one, bound)
                        if period != "transaction"
                    }
                    _same(shown[bound.kind, bound.currency], **left)

    def learn_names(self, first: str | None = None) -> None:
        """The books know how many payments there are; the service names them. `first` is named in its answer."""
        nameless = [payment for payment in self.books.payments if not payment.payment_id]
        if nameless and first is not None:
            nameless.pop(0).payment_id = first
        if not nameless:
            return
        known = {payment.payment_id for payment in self.books.payments}
        shown = self._get(f"/transactions?limit={len(nameless) + 1}")["transactions"]
        new = [entry["id"] for entry in reversed(shown) if entry["id"] not in known]
        assert len(new) == len(nameless), f"{len(new)} new payments, in the books {len(nameless)}"
        for payment, payment_id in zip(nameless, new, strict=True):
            payment.payment_id = payment_id

    def same_link(self, link: Link, shown: dict[str, Any] | None = None) -> None:
        """A link is what the books say."""
        found: dict[str, Any] = shown or self._get(f"/payment-links/{link.link_id}")
        _same(found, status=self.books.standing(link), payments_count=link.payments, amount_paid_minor=link.paid)

    def same_payment(self, payment: Payment, shown: dict[str, Any]) -> None:
        """A payment is what the books say."""
        _same(shown, **self._shown(payment))
        if payment.dispute is not None:
            dispute = shown["chargeback"]
            _same(dispute, status=payment.dispute, fee_minor=self.books.fees[payment.link.currency].dispute)

    def same_withdrawal(self, one: Withdrawal, shown: dict[str, Any]) -> None:
        """A withdrawal is what the books say, and the bank has it only if it was sent."""
        price = {"debit_minor": one.price.debit, "receive_minor": one.price.receive}
        _same(shown, status=one.status, amount_minor=one.wish.amount, **price)
        assert one.purse != LIVE or self.backstage.bank_has(one.withdrawal_id) == one.there, shown

    def same_balance_payment(self, one: BalancePayment, shown: dict[str, Any]) -> None:
        """A balance payment is what the books say."""
        status = one.shown(self.books.clock) if one.payer == SHOP else one.status
        paid = {"captured_minor": one.captured, "released_minor": one.released, "refunded_minor": one.refunded}
        _same(shown, status=status, amount_minor=one.amount, **paid)

    def same_exchange(self, exchange: Exchange, shown: dict[str, Any]) -> None:
        """What was converted, or quoted, is what the books say."""
        given, got = exchange.pair
        amounts = {"from_amount_minor": exchange.given, "fee_minor": exchange.fee, "to_amount_minor": exchange.got}
        _same(shown, from_currency=given, to_currency=got, **amounts)

    def same_fulfillment(self, one: Fulfillment, shown: dict[str, Any]) -> None:
        """A fulfillment is what the books say."""
        charged = one.delivered * UNIT_PRICE
        _same(shown, status=one.status, quantity=one.quantity, delivered_quantity=one.delivered, charged_minor=charged)

    def same_balances(self, *purses: str) -> None:
        """Every balance of these is what the books say: by default of the shop, and of whoever was touched lately."""
        for purse in purses or {SHOP} | self.touched:
            shown = {balance["currency"]: balance for balance in self._get("/balances", purse)["balances"]}
            for currency, balance in self.books.purses[purse].items():
                one = shown[currency]
                _same(
                    one,
                    available_minor=balance.available,
                    pending_minor=0,
                    reserved_minor=balance.reserved,
                    debt_minor=balance.debt,
                    total_minor=balance.available + balance.reserved - balance.debt,
                )
                _same(one["reserved_breakdown"], **{f"{purpose}_minor": held for purpose, held in balance.held.items()})
        self.touched.clear()

    def same_everything(self) -> None:
        """All balances and limits, and all that ever moved one, are what the books say."""
        self.same_balances(SHOP, GUEST, LIVE)
        self.same_limits()
        books = self.books
        self._same_all(self.every("payment-links"), {link.link_id: link for link in books.links}, self.same_link)
        self._same_all(
            self.every("transactions"), {payment.payment_id: payment for payment in books.payments}, self.same_payment
        )
        refunds = self.every("refunds") if books.refunds else {}
        assert {name: one["status"] for name, one in refunds.items()} == {
            refund.refund_id: refund.status for refund in books.refunds
        }
        for purse in (SHOP, LIVE):
            mine = {
                withdrawal.withdrawal_id: withdrawal for withdrawal in books.withdrawals.every if withdrawal.purse == purse
            }
            self._same_all(self.every("withdrawals", purse), mine, self.same_withdrawal)
        for payer in OWNER:
            paid = {payment.payment_id: payment for payment in books.balance_payments.every if payment.payer == payer}
            self._same_all(self.every("balance-payments", payer), paid, self.same_balance_payment)
        exchanges = {conversion.conversion_id: conversion.exchange for conversion in books.conversions.every}
        self._same_all(self.every("conversions"), exchanges, self.same_exchange)
        ordered = {order.fulfillment_id: order for order in books.fulfillments.every}
        self._same_all(self.every("fulfillments"), ordered, self.same_fulfillment)

    def every(self, noun: str, by: str = SHOP) -> dict[str, Any]:
        """All of these that the service shows, by their ids."""
        found: dict[str, Any] = {}
        for page in range(1, 10):
            body = self._get(f"/{noun}?limit=100&page={page}", by)
            found |= {one["id"]: one for one in body[noun.replace("-", "_")]}
            if not body["has_more"]:
                break
        return found

    def replay(self, sent: Sent) -> None:
        """The same request again is answered with the same bytes; an application's, while it is connected."""
        again: Reply = self.counter.post(sent.path, sent.body, self.credentials[sent.by], sent.key)
        if self._is_known(sent.by):
            assert (again.status, again.raw, again.replayed) == (sent.reply.status, sent.reply.raw, True)
        else:
            assert (again.status, again.outcome) == (401, "invalid_token")

    def reuse(self, sent: Sent) -> None:
        """The key of an earlier request does not serve another one."""
        reply = self.counter.post(sent.path, sent.body | {"another": "body"}, self.credentials[sent.by], sent.key)
        known = self._is_known(sent.by)
        assert (reply.status, reply.outcome) == ((422, "idempotency_key_reused") if known else (401, "invalid_token"))

    def _asking(self, path: str, by: str) -> str:
        """Who asks: the application pays its owner, and everyone else spends in the shop's name."""
        if path.startswith("/balance-payments"):
            is_connected = self.desk in CONNECTED
            taken = by == (TILL[SHOP] if is_connected else SHOP)
            return self.desk if taken and (path in SPENDING or (is_connected and path.endswith("/capture"))) else by
        return self.desk if by == SHOP and _spends(path) else by

    def _tell(self, action: Callable[[], object], path: str = "", by: str = SHOP) -> str:
        """Do it in the books: `ok`, or the code of a refusal, which leaves them as they were."""
        before = pickle.dumps(self.books)
        limits, self.details = self.books.limits, None
        try:
            limits.by = by if by in limits.credentials else None
            limits.admit(alone=_spends(path))
            action()
            limits.by = None
        except RefusedError as refused:
            self.books = pickle.loads(before)  # noqa: S301 - our own
            self.details = refused.details
            return refused.code
        return "ok"

    def _is_known(self, by: str) -> bool:
        """Whether whoever asks still has a credential."""
        connected = self.books.balance_payments.connected
        return connected[SHOP] if by in CONNECTED else by != TILL[GUEST] or connected[GUEST]

    def _get(self, path: str, by: str = SHOP) -> Any:
        return self.counter.get(path, self.credentials[by])

    def _same_all(self, shown: dict[str, Any], kept: dict[str, Any], same: Callable[[Any, dict[str, Any]], None]) -> None:
        """Nothing is missing, nothing is there beside, and each is the same."""
        assert set(shown) == set(kept)
        for name, one in kept.items():
            same(one, shown[name])

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
            "refund_required_amount_minor": 0 if payment.status in {"pending", "processing"} else payment.unapplied,
            "late": payment.late,
        }
        return kept | ({"refund_required_reason": payment.reason} if status == "refund_required" else {})


def _same(shown: dict[str, Any], **kept: Any) -> None:
    differs = {name: (shown[name], value) for name, value in kept.items() if shown[name] != value}
    assert not differs, f"{shown.get('object')} {shown.get('id') or shown.get('currency')}: (shown, in the books) {differs}"


def _spends(path: str) -> bool:
    return path in SPENDING or path.endswith("/refunds")


def spelt(minor: int, currency: str) -> str:
    """An amount as requests say it."""
    return format_minor(minor, DECIMALS[currency])
