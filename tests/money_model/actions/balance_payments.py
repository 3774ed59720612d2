"""Money between two merchants, each with an application that may charge the other: which may be disconnected at any time."""

from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.picking import CURRENCIES, PARTS, PICK, Actions, mostly
from tests.money_model.history import CONNECTED, TILL, spelt
from tests.money_model.oracle.balance_payments import OWNER, BalancePayment, By
from tests.money_model.oracle.balances import GUEST, SHOP

PAYERS = st.sampled_from([SHOP, SHOP, GUEST])
FREE = st.sampled_from(["application", "application", "merchant"])
ANYBODY = st.sampled_from(["application", "application", "merchant", "owner"])
LASTS_S = st.sampled_from([None, 3_600, 3_600, 90_000])
"""How long a reservation lasts: a week left to itself."""
WEEK_S = 604_800

RESERVED, PAID = {"reserved"}, {"captured", "partially_refunded"}


class BalancePaymentActions(Actions):
    """Balance payments in both directions: so they meet debts and empty balances on either side."""

    @rule(payer=PAYERS, currency=CURRENCIES, amount=st.integers(1, 60_000), by=FREE, pick=PICK)
    def pay_partner(self, payer: str, currency: str, amount: int, by: By, pick: int) -> None:
        self._be_connected(payer, pick)
        self._pay(BalancePayment(payer, currency, amount), by, pick, capture=True)

    @rule(payer=PAYERS, currency=CURRENCIES, amount=st.integers(1, 60_000), lasts_s=LASTS_S, by=FREE, pick=PICK)
    def reserve(self, payer: str, currency: str, amount: int, lasts_s: int | None, by: By, pick: int) -> None:
        self._be_connected(payer, pick)
        self._reserve(payer, currency, amount, lasts_s, by, pick)

    @rule(pick=PICK, part=PARTS, by=ANYBODY)
    def capture(self, pick: int, part: int | None, by: By) -> None:
        self._prepare_reservation(pick)
        self._capture(self._balance_payment(RESERVED, pick), part, by)

    @rule(pick=PICK, by=ANYBODY)
    def release(self, pick: int, by: By) -> None:
        self._prepare_reservation(pick)
        self._release(self._balance_payment(RESERVED, pick), by)

    @rule(pick=PICK, by=ANYBODY, actions_listed=st.lists(st.sampled_from(["capture", "release"]), min_size=2, max_size=2))
    def settle_twice(self, pick: int, by: By, actions_listed: list[str]) -> None:
        """Whoever was first has settled it."""
        self._prepare_reservation(pick)
        reserved = self._balance_payment(RESERVED, pick)
        if reserved is None:
            return
        for action in actions_listed:
            [payment] = [
                payment for payment in self.books.balance_payments.every if payment.payment_id == reserved.payment_id
            ]
            if action == "capture":
                self._capture(payment, None, by)
            else:
                self._release(payment, by)

    @rule(pick=PICK, part=PARTS, by=FREE)
    def refund_balance_payment(self, pick: int, part: int | None, by: By) -> None:
        """Mostly of what was captured just now, if nothing was before."""
        if mostly(pick) and not any(payment.status in PAID for payment in self.books.balance_payments.every):
            self._be_connected(SHOP, pick)
            self._pay(BalancePayment(SHOP, "EUR", 1 + pick), "application", pick, capture=True)
        payment = self._balance_payment(PAID, pick)
        if payment is not None:
            books = self.books
            body = {} if part is None else {"amount": spelt(part, payment.currency)}
            self._request(payment, "refund", body, lambda: books.balance_payments.refund(payment, part, by), by)

    @rule()
    def expire_reservations(self) -> None:
        """The worker gives back what nobody captured in time."""
        self.history.backstage.expire_reservations()
        self.books.balance_payments.expire(self.books.clock)

    @rule(payer=PAYERS, by=st.sampled_from(["merchant", "owner", "owner of all"]))
    def disconnect(self, payer: str, by: str) -> None:
        """No money moves: what is reserved stays reserved."""
        if self.books.balance_payments.connected[payer]:
            merchants = self.history.merchants
            done = self.history.backstage.disconnect(merchants[payer], merchants[OWNER[payer]], by)
            assert done == "ok"
            self.books.balance_payments.connected[payer] = False
            if payer == SHOP:
                for name in CONNECTED:
                    self.books.limits.credentials[name].is_alive = False
            self.history.touched.update(OWNER)

    def _be_connected(self, payer: str, pick: int) -> None:
        """Mostly see to it that the partner's application may charge."""
        if mostly(pick) and not self.books.balance_payments.connected[payer]:
            history = self.history
            owner = history.merchants[OWNER[payer]]
            [connections] = self.harness.connect([owner.client_id], [history.merchants[payer].merchant_id])
            history.be_connected(payer, connections)
            self.books.balance_payments.connected[payer] = True

    def _prepare_reservation(self, pick: int) -> None:
        """Mostly see to it that something is reserved."""
        if mostly(pick) and not any(payment.status == "reserved" for payment in self.books.balance_payments.every):
            payer = GUEST if pick % 5 == 0 else SHOP
            self._be_connected(payer, pick)
            self._reserve(payer, "EUR", 1 + pick, 3_600, "application", pick)

    def _reserve(self, payer: str, currency: str, amount: int, lasts_s: int | None, by: By, pick: int) -> None:
        expires_at = None if payer == GUEST else self.books.clock + (lasts_s or WEEK_S)
        lasts = {} if lasts_s is None else {"expires_in": lasts_s}
        self._pay(BalancePayment(payer, currency, amount, expires_at), by, pick, capture=False, **lasts)

    def _pay(self, new: BalancePayment, by: By, pick: int, *, capture: bool, **more: int) -> None:
        self.have(new.payer, new.currency, new.amount, pick)
        books, requests = self.books, TILL[new.payer] if by == "application" else new.payer
        body: dict[str, Any] = {
            "amount": spelt(new.amount, new.currency),
            "currency": new.currency,
            "capture": capture,
            **more,
        }
        if by == "merchant":
            body["oauth_client_id"] = self.history.merchants[OWNER[new.payer]].client_id
        made = self.history.request(
            "/balance-payments", body, lambda: books.balance_payments.pay(new, by=by, capture=capture), requests
        )
        self.history.touched.update(OWNER)
        if made is not None:
            new.payment_id = made["id"]
            self.history.same_balance_payment(new, made)

    def _capture(self, payment: BalancePayment | None, part: int | None, by: By) -> None:
        if payment is None:
            return
        amount = None if part is None else spelt(part, payment.currency)
        action = lambda: self.books.balance_payments.capture(payment, part, by, self._now(payment))  # noqa: E731 - for both
        if by == "owner":
            owner = self.history.merchants[OWNER[payment.payer]]
            self.history.let(
                lambda: self.history.backstage.capture_as_owner(owner, payment.payment_id, amount), action, *OWNER
            )
        else:
            self._request(payment, "capture", {} if amount is None else {"amount": amount}, action, by)

    def _release(self, payment: BalancePayment | None, by: By) -> None:
        if payment is None:
            return
        action = lambda: self.books.balance_payments.release(payment, by, self._now(payment))  # noqa: E731 - for both
        if by == "owner":
            owner = self.history.merchants[OWNER[payment.payer]]
            self.history.let(lambda: self.history.backstage.release_as_owner(owner, payment.payment_id), action, *OWNER)
        else:
            self._request(payment, "release", {}, action, by)

    def _request(
        self, payment: BalancePayment, action: Literal["capture", "release", "refund"], body: Any, reported: Any, by: By
    ) -> None:
        """By the application's token, or by the paying merchant's API key."""
        requests = TILL[payment.payer] if by == "application" else payment.payer
        shown = self.history.request(f"/balance-payments/{payment.payment_id}/{action}", body, reported, requests)
        self.history.touched.update(OWNER)
        if shown is not None:
            self.history.same_balance_payment(payment, shown)

    def _balance_payment(self, statuses: set[str], pick: int) -> BalancePayment | None:
        every = self.books.balance_payments.every
        return self.one_of([item for item in every if item.status in statuses], every, pick)

    def _now(self, payment: BalancePayment) -> int:
        """By the clock of whoever pays: only the shop's is ever moved."""
        return self.books.clock if payment.payer == SHOP else 0
