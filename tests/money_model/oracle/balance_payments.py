"""Balance payments in the books: between two merchants, of whom each owns an application that may charge the other."""

from dataclasses import dataclass, field
from typing import Literal

from tests.money_model.oracle.balances import GUEST, SHOP, Balance, Purse, RefusedError
from tests.money_model.oracle.limits import Limits, Use, give_back

OWNER = {SHOP: GUEST, GUEST: SHOP}
"""Who owns the application that charges the other one."""

PUBLIC = SHOP
"""Whose application is a public client; the other's is confidential."""

By = Literal["application", "merchant", "owner"]
"""Who settles a payment: the application by its token, the paying merchant by its API key, the owner at the dashboard."""


@dataclass
class BalancePayment:
    """Money of one merchant for the other: set aside at first, or paid at once. `amount` is captured, released, or held."""

    payer: str
    currency: str
    amount: int
    expires_at: int | None = None
    status: str = "reserved"
    captured: int = 0
    released: int = 0
    refunded: int = 0
    payment_id: str = ""
    uses: list[Use] = field(default_factory=list[Use])

    def shown(self, at: int) -> str:
        """The status at this moment: a reservation is over when its time is."""
        over = self.status == "reserved" and self.expires_at is not None and at >= self.expires_at
        return "expired" if over else self.status


@dataclass
class BalancePayments:
    """All between the two. `connected`: whether the application of the other one has a living token."""

    purses: dict[str, Purse]
    limits: Limits
    every: list[BalancePayment] = field(default_factory=list[BalancePayment])
    connected: dict[str, bool] = field(default_factory=lambda: {SHOP: True, GUEST: True})

    def pay(self, payment: BalancePayment, *, by: By, capture: bool) -> None:
        """Pay at once, or set aside. A merchant that is connected may do this too."""
        self._require_connected(payment, by, "not_found")
        balance = self._payer(payment)
        payment.uses = self.limits.spend("balance_payments", payment.currency, payment.amount)
        if capture:
            balance.spend(payment.amount)
            payment.status, payment.captured = "captured", payment.amount
            self._owner(payment).credit(payment.amount)
        else:
            balance.hold(payment.amount, "balance_payments")
        self.every.append(payment)

    def capture(self, payment: BalancePayment, part: int | None, by: By, at: int) -> None:
        """Pay what is set aside, or a part of it, while the rest is given back."""
        self._require_connected(payment, by)
        _require_application(by)
        part = part or payment.amount
        self.limits.require_unexpired("balance_payments", payment.currency)
        _require_reserved(payment, at)
        if part > payment.amount:
            raise RefusedError("amount_above_maximum")
        if part < payment.amount:
            _require_confidential(payment, by)
        payment.status, payment.captured, payment.released = "captured", part, payment.amount - part
        self._payer(payment).take(part, "balance_payments")
        self._payer(payment).release(payment.released, "balance_payments")
        give_back(payment.uses, payment.released)
        self._owner(payment).credit(part)

    def release(self, payment: BalancePayment, by: By, at: int) -> None:
        """Give back what is set aside."""
        self._require_connected(payment, by)
        _require_application(by)
        _require_confidential(payment, by)
        _require_reserved(payment, at)
        self._give_back(payment, "released")

    def refund(self, payment: BalancePayment, part: int | None, by: By) -> None:
        """The owner pays back what it got, or a part of it."""
        self._require_connected(payment, by)
        _require_application(by)
        _require_confidential(payment, by)
        if payment.status not in {"captured", "partially_refunded"}:
            raise RefusedError("invalid_state")
        left = payment.captured - payment.refunded
        part = part or left
        if part > left:
            raise RefusedError("refund_amount_exceeds_remaining")
        self._owner(payment).spend(part)
        self._payer(payment).credit(part)
        payment.refunded += part
        payment.status = "partially_refunded" if part < left else "refunded"

    def expire(self, at: int) -> None:
        """The worker gives back what nobody captured in time."""
        for payment in self.every:
            if payment.status == "reserved" and payment.shown(at) == "expired":
                self._give_back(payment, "expired")

    def _give_back(self, payment: BalancePayment, status: str) -> None:
        payment.status, payment.released = status, payment.amount
        self._payer(payment).release(payment.amount, "balance_payments")
        give_back(payment.uses)

    def _require_connected(self, payment: BalancePayment, by: By, unknown: str | None = None) -> None:
        """Only an application needs its connection; and a merchant, to begin a payment to one."""
        if not self.connected[payment.payer]:
            if by == "application":
                raise RefusedError("invalid_token")
            if by == "merchant" and unknown is not None:
                raise RefusedError(unknown)

    def _payer(self, payment: BalancePayment) -> Balance:
        return self.purses[payment.payer][payment.currency]

    def _owner(self, payment: BalancePayment) -> Balance:
        return self.purses[OWNER[payment.payer]][payment.currency]


def _require_application(by: By) -> None:
    """Whoever pays must not take back what was promised."""
    if by == "merchant":
        raise RefusedError("application_required")


def _require_confidential(payment: BalancePayment, by: By) -> None:
    """The token of a public client is in the payer's hands."""
    if by == "application" and OWNER[payment.payer] == PUBLIC:
        raise RefusedError("confidential_client_required")


def _require_reserved(payment: BalancePayment, at: int) -> None:
    if payment.shown(at) != "reserved":
        raise RefusedError("invalid_state")
