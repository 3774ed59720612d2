"""The bank reconciliation: the balance of the bank, that of the ledger, and what is between them and the merchants."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from msgspec import Struct


class StatedAccount(Struct, frozen=True):
    """A bank account with the closing balance of its newest statement."""

    iban: str
    currency: str
    statement_id: UUID | None
    statement_name: str | None
    closed_on: date
    stated_minor: int
    is_importing: bool


class OpenItems(Struct, frozen=True):
    """The number of open transfers or payouts, and their sum."""

    count: int = 0
    amount_minor: int = 0


class ReconciledAccount(Struct, frozen=True):
    """A bank account beside the ledger."""

    stated: StatedAccount
    ledger_minor: int

    @property
    def difference_minor(self) -> int:
        """What the ledger has more than the statement."""
        return self.ledger_minor - self.stated.stated_minor

    @property
    def is_wrong(self) -> bool:
        """Whether they differ although no statement is being imported."""
        return self.difference_minor != 0 and not self.stated.is_importing


class ReconciledPart(Struct, frozen=True):
    """An amount between the bank and the merchants: added to the balance of the bank, or subtracted if negative.

    `code` is that of its account, or empty for all other ones. `listed_minor` is the sum of its items, where they are open
    ones; `path` leads to their list.
    """

    code: str
    amount_minor: int
    path: str = ""
    listed_minor: int | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the list of its items has another sum."""
        return self.listed_minor is not None and self.listed_minor != self.amount_minor


class Reconciliation(Struct, frozen=True):
    """Of one currency: from the balance of the bank accounts, by the parts, to what the merchants have.

    `exported` are payouts that no statement shows yet: their amounts are in the merchants' reserved balances.
    """

    currency: str
    accounts: Sequence[ReconciledAccount]
    parts: Sequence[ReconciledPart]
    merchants_minor: int
    exported: OpenItems

    @property
    def bank_minor(self) -> int:
        """The balance of the bank accounts in the ledger."""
        return sum(one.ledger_minor for one in self.accounts)

    @property
    def is_wrong(self) -> bool:
        """Whether anything differs."""
        return any(one.is_wrong for one in (*self.accounts, *self.parts)) or self.merchants_minor != self.bank_minor + sum(
            one.amount_minor for one in self.parts
        )
