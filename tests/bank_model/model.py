"""The model: what the bank has booked, and what the books must say of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.rails.bank.camt import IBAN, Line

BOOKS = f"bank:{IBAN.lower()}"


@dataclass
class Sale:
    """A payment of this amount. `taken_back`: how often the bank took it back."""

    reference: str
    minor: int
    is_paid: bool = False
    taken_back: int = 0


@dataclass
class Payout:
    """A withdrawal that was exported."""

    id: str
    minor: int
    is_debited: bool = False
    is_returned: bool = False
    is_awaited: bool = False  # a debit or a return of it is on the next statement


@dataclass
class Entry:
    """An entry of the next statement, and what it does to the books when it is imported."""

    line: Line
    book: Callable[[], None]

    @property
    def undoes(self) -> bool:
        """Whether the bank marks it as a return or reversal."""
        return self.line.reversal or self.line.return_reason is not None


@dataclass
class Unmatched:
    """A transfer that waits for an operator. `mark` is in its text."""

    kind: str
    mark: str
    minor: int
    sale: Sale | None = None
    payout: Payout | None = None


@dataclass
class Books:
    """Balances in cents: of the platform by code, and of the merchant."""

    accounts: dict[str, int] = field(default_factory=dict)
    available: int = 0
    reserved: int = 0
    debt: int = 0

    def add(self, code: str, minor: int) -> None:
        """Change an account of the platform, in its own terms."""
        self.accounts[code] = self.accounts.get(code, 0) + minor

    def credit(self, minor: int) -> None:
        """Credit the merchant: debt is repaid first."""
        repaid = min(self.debt, minor)
        self.debt -= repaid
        self.available += minor - repaid

    def charge(self, minor: int) -> None:
        """Charge the merchant: what is not available becomes debt."""
        covered = min(self.available, minor)
        self.available -= covered
        self.debt += minor - covered

    def come_back(self, payout: Payout) -> None:
        """A payout is returned, perhaps before a statement shows it leave: then it is in transit until one does."""
        if not payout.is_debited:
            self.reserved -= payout.minor
            self.add("rail:bank", -payout.minor)
        payout.is_returned = True
        self.credit(payout.minor)

    def leave(self, payout: Payout) -> None:
        """A statement shows a payout leave."""
        if payout.is_returned:
            self.add("rail:bank", payout.minor)
        else:
            self.reserved -= payout.minor
        payout.is_debited = True

    @property
    def platform(self) -> dict[str, int]:
        """The platform's accounts with a balance."""
        return {code: minor for code, minor in self.accounts.items() if minor}
