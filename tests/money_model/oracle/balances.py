"""What a merchant has in each currency: to spend, set aside and for what, and owed. And what things cost, and refusals."""

from dataclasses import dataclass, field
from typing import Literal

DECIMALS = {"EUR": 2, "JPY": 0, "BTC": 8}
SHOP, GUEST, LIVE = "shop", "guest", "live"
"""The purses: of the merchant whose history it is, of its partner, and of the merchant again in live mode."""

Purpose = Literal["refunds", "withdrawals", "balance_payments", "fulfillments"]


class RefusedError(Exception):
    """The house refuses, with this code, and says so much about it."""

    def __init__(self, code: str, details: dict[str, str | int] | None = None) -> None:
        super().__init__(code)
        self.code, self.details = code, details


@dataclass(frozen=True)
class Fee:
    """What something costs, and what the dispute of a payment does."""

    fixed: int = 0
    bps: int = 0
    minimum: int = 0
    maximum: int | None = None
    dispute: int = 0

    def of(self, minor: int) -> int:
        """The fee of an amount, its share rounded up."""
        share = -(-minor * self.bps // 10_000)
        fee = max(self.fixed + share, self.minimum)
        return min(minor, fee if self.maximum is None else min(fee, self.maximum))


@dataclass
class Balance:
    """What the merchant has in one currency.

    Rules of conversion look at how it came: `paid` is what payments ever brought, `gains` how often anything came that no
    conversion brought.
    """

    available: int = 0
    debt: int = 0
    held: dict[Purpose, int] = field(
        default_factory=lambda: {"refunds": 0, "withdrawals": 0, "balance_payments": 0, "fulfillments": 0}
    )
    paid: int = 0
    gains: int = 0

    @property
    def reserved(self) -> int:
        """All that is set aside."""
        return sum(self.held.values())

    def credit(self, minor: int, *, converted: bool = False) -> None:
        """Money comes in: what is owed is repaid first."""
        repaid = min(self.debt, minor)
        self.debt -= repaid
        self.available += minor - repaid
        self.gains += minor > 0 and not converted

    def be_paid(self, minor: int, fee: int) -> None:
        """A customer's money comes in, less its fee."""
        self.credit(minor - fee)
        self.gains += minor == fee
        self.paid += minor - fee

    def charge(self, minor: int) -> None:
        """Money is taken, whether or not it is there: what is not becomes a debt."""
        there = min(self.available, minor)
        self.available -= there
        self.debt += minor - there

    def spend(self, minor: int) -> None:
        """Money leaves, if it is there."""
        if minor > self.available:
            raise RefusedError("insufficient_funds")
        self.available -= minor

    def hold(self, minor: int, purpose: Purpose) -> None:
        """Money is set aside, if it is there."""
        self.spend(minor)
        self.held[purpose] += minor

    def take(self, minor: int, purpose: Purpose) -> None:
        """Money that was set aside leaves."""
        self.held[purpose] -= minor

    def release(self, minor: int, purpose: Purpose) -> None:
        """Money that was set aside comes back."""
        self.take(minor, purpose)
        self.credit(minor)


Purse = dict[str, Balance]


def empty_purses() -> dict[str, Purse]:
    """Nobody has anything yet."""
    return {whose: {currency: Balance() for currency in DECIMALS} for whose in (SHOP, GUEST, LIVE)}
