"""Totals of accounts of the chart, and postings, as they are read for accounting. Amounts are in minor units."""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import MerchantId


class AccountTotal(Struct, frozen=True):
    """All that was debited and credited to an account of the chart. Accounts of merchants are added up by code."""

    currency: str
    code: str
    debit_minor: int
    credit_minor: int

    @property
    def balance_minor(self) -> int:
        """Debits less credits: negative where credits prevail."""
        return self.debit_minor - self.credit_minor


class TrialBalance(Struct, frozen=True):
    """The accounts of one currency. Debits equal credits, so that all balances add up to zero."""

    currency: str
    accounts: Sequence[AccountTotal]

    @property
    def debit_minor(self) -> int:
        """All debits."""
        return sum(account.debit_minor for account in self.accounts)

    @property
    def credit_minor(self) -> int:
        """All credits."""
        return sum(account.credit_minor for account in self.accounts)

    @property
    def balance_minor(self) -> int:
        """All balances together: zero."""
        return sum(account.balance_minor for account in self.accounts)


class DailyTotal(Struct, frozen=True):
    """What was posted on one day from one account to another, and by how many postings."""

    day: date
    type: str
    debit_code: str
    credit_code: str
    amount_minor: int
    postings: int


class JournalPosting(Struct, frozen=True):
    """One posting: an amount debited to one account and credited to another. The merchants are those of the accounts."""

    created_at: datetime
    transaction_id: UUID
    line: int
    type: str
    currency: str
    amount_minor: int
    debit_code: str
    debit_merchant_id: MerchantId | None
    credit_code: str
    credit_merchant_id: MerchantId | None
    source_type: str
    source_id: UUID


class JournalPosition(Struct, frozen=True):
    """The position of a posting in the journal, which is in the order of times."""

    at: datetime
    transaction_id: UUID = UUID(int=0)
    line: int = 0
