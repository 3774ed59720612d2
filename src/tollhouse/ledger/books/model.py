"""Accounts, journal entries and their postings, ledger entries, holds, and the rules that need no database."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal, cast
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.platform.database.records import Columns, Record, Selected

MerchantCode = Literal["available", "pending", "reserved", "debt"]
"""Part of a balance.

available: What can be spent.
pending: What is not final yet.
reserved: What is set aside for actions that have not ended.
debt: What is owed.
"""
EntryType = Literal[
    "payment",
    "payment_fee",
    "refund",
    "refund_reversal",
    "chargeback",
    "chargeback_fee",
    "chargeback_reversal",
    "hold",
    "release",
    "withdrawal",
    "withdrawal_fee",
    "network_fee",
    "withdrawal_return",
    "conversion_out",
    "conversion_in",
    "conversion_fee",
    "balance_payment_out",
    "balance_payment_in",
    "balance_payment_refund",
    "fulfillment",
    "fulfillment_refund",
    "settlement",
    "adjustment",
    "test_funding",
]
"""What an entry is for.

payment: A payment of a customer.
payment_fee: The fee of a payment.
settlement: Debt that was repaid from money that arrived.
refund: A refund to a customer.
refund_reversal: A refund that came back.
chargeback: A chargeback.
chargeback_fee: The fee of a chargeback.
chargeback_reversal: A chargeback that was won.
hold: An amount was set aside.
release: An amount that was set aside is available again.
withdrawal: A withdrawal.
withdrawal_fee: The platform's fee of a withdrawal.
network_fee: The network's fee of a withdrawal.
withdrawal_return: A withdrawal that came back.
conversion_out: What a conversion cost.
conversion_in: What a conversion brought.
conversion_fee: The fee of a conversion.
balance_payment_out: A balance payment to an application's owner.
balance_payment_in: A balance payment from a merchant.
balance_payment_refund: A refund of a balance payment.
fulfillment: A delivery of in-game currency.
fulfillment_refund: The price of a delivery that was returned.
adjustment: A correction by the operator.
test_funding: Test funds.
"""
BankPosting = Literal[
    "bank_entry",
    "bank_opening",
    "bank_assignment",
    "bank_dismissal",
    "bank_fee",
    "bank_return_fee",
    "bank_write_off",
    "bank_reopening",
]
ReversalPosting = Literal["payment_reversal", "payment_reinstatement"]
FloatPosting = Literal["rail_float"]
ProviderPosting = Literal["provider_fee", "provider_payout"]
"""Types of postings between accounts of the platform, of which merchants see nothing."""

PostingType = EntryType | BankPosting | ReversalPosting | FloatPosting | ProviderPosting
MERCHANT_CODES: tuple[MerchantCode, ...] = ("available", "pending", "reserved", "debt")
PLATFORM_CODE = re.compile(r"fx|(rail|bank|transit|unapplied|unmatched|income|expense|payable|equity):[a-z0-9_]+")


class Account(Struct, frozen=True):
    """An account of the chart, in the currency of the posting and the mode of the entry. No merchant: the platform's."""

    code: str
    merchant_id: MerchantId | None = None

    def __post_init__(self) -> None:
        known = PLATFORM_CODE.fullmatch(self.code) if self.merchant_id is None else self.code in MERCHANT_CODES
        if not known:
            raise ValueError(f"there is no account {self.code}")


class Posting(Struct, frozen=True):
    """An amount debited to one account and credited to another, so that every posting balances."""

    type: PostingType
    currency: str
    amount_minor: int
    debit: Account
    credit: Account

    def __post_init__(self) -> None:
        if not 0 < self.amount_minor <= MINOR_MAX:
            raise ValueError("a posting moves an amount above zero")
        if self.debit == self.credit:
            raise ValueError("a posting moves money between two accounts")


class Source(Struct, frozen=True):
    """The object whose transition is posted, such as a `transaction`. `step` counts transitions that repeat."""

    type: str
    id: UUID
    step: int = 0


class JournalEntry(Struct, frozen=True):
    """The postings of one ledger transaction. Unique by kind, source and step."""

    mode: Mode
    kind: PostingType
    source: Source
    postings: tuple[Posting, ...]

    def __post_init__(self) -> None:
        if not self.postings:
            raise ValueError("a journal entry has at least one posting")


class PostedEntry(Struct, frozen=True):
    """The effect of a posting on one account of a merchant.

    `delta_minor` is signed. `client_id` is the application that requested it, if any.
    """

    id: UUID
    transaction_id: UUID
    merchant_id: MerchantId
    currency: str
    account: MerchantCode
    type: EntryType
    delta_minor: int
    source: Source
    client_id: str | None


class LedgerEntry(PostedEntry, frozen=True):
    """An entry with the balance after it. `sequence` has no gaps per account."""

    balance_after_minor: int
    sequence: int
    created_at: datetime


class LedgerTransaction(Struct, frozen=True):
    """A ledger transaction, with the merchants' entries in the order of its postings."""

    id: UUID
    entries: tuple[PostedEntry, ...]

    def for_merchant(self, env: MerchantEnv) -> "LedgerTransaction":
        """Only the entries of one merchant: each party of a balance payment is sent its own."""
        return LedgerTransaction(self.id, tuple(entry for entry in self.entries if entry.merchant_id == env.merchant_id))


class PostedTransaction(LedgerTransaction, frozen=True):
    """A ledger transaction whose balances are known."""

    entries: tuple[LedgerEntry, ...]


class Hold(Struct, frozen=True):
    """Money reserved for one source; what is neither captured nor released is still held."""

    id: UUID
    env: MerchantEnv
    currency: str
    source: Annotated[Source, Columns({"source_type": "type", "source_id": "id", "moves": "step"})]
    amount_minor: Annotated[int, Selected("{row}.amount")]
    captured_minor: Annotated[int, Selected("{row}.captured")]
    released_minor: Annotated[int, Selected("{row}.released")]


HOLD = Record(Hold, "ledger_holds")


class InsufficientFunds(ApiError):
    """422: the balance does not cover it. Nothing was posted."""

    code, status, message = "insufficient_funds", 422, "The available balance does not cover this amount."
    solution = "Read the balance, then send a smaller amount or wait for payments."

    def __init__(self, details: Mapping[str, object] | None = None) -> None:
        super().__init__(members={"details": dict(details)} if details else None)


class BalanceLimitExceeded(ApiError):
    """422: the balance cannot hold so much more (2^53 - 1 minor units in all). Nothing was posted."""

    code, status = "balance_limit_exceeded", 422
    message = "The balance would exceed its limit of 9007199254740991 minor units."
    solution = "Withdraw or convert a part of the balance first."


class AlreadyPosted(ApiError):
    """409: this transition is in the ledger already."""

    code, status, message = "invalid_state", 409, "This was already done."


class HoldNotActive(ApiError):
    """409: the hold is resolved, or holds less than the amount."""

    code, status, message = "invalid_state", 409, "The reserved funds were already used or released."


def available(env: MerchantEnv) -> Account:
    """What the merchant can spend."""
    return Account("available", env.merchant_id)


def reserved(env: MerchantEnv) -> Account:
    """What holds reserve."""
    return Account("reserved", env.merchant_id)


def rail(name: str) -> Account:
    """Money at a bank, a wallet, an acquirer, or the sandbox."""
    return Account(f"rail:{name}")


def bank_account(iban: str) -> Account:
    """Money at a bank, as its statements say. Between it and a merchant is the rail's account: money in transit."""
    return Account(f"bank:{iban.lower()}")


def transit(rail_name: str) -> Account:
    """What a provider has paid out to the operator, and is not known to have arrived."""
    return Account(f"transit:{rail_name}")


def unmatched(rail_name: str) -> Account:
    """Transfers on statements that match no payment or payout: received if positive, sent if negative."""
    return Account(f"unmatched:{rail_name}")


def unapplied(rail_name: str) -> Account:
    """Customers' money received by a rail that could not be applied to a payment."""
    return Account(f"unapplied:{rail_name}")


def debt(env: MerchantEnv) -> Account:
    """What the merchant owes beyond its available balance."""
    return Account("debt", env.merchant_id)


def income(
    fee: Literal["payment_fee", "withdrawal_fee", "conversion_fee", "chargeback_fee", "fulfillment_margin"],
) -> Account:
    """The platform's revenue."""
    return Account(f"income:{fee}")


def expense(kind: Literal["network_fee", "provider_fee", "bank_fee", "bank_difference", "reversed_payment"]) -> Account:
    """The platform's costs."""
    return Account(f"expense:{kind}")


def payable(name: str) -> Account:
    """What the platform owes a supplier."""
    return Account(f"payable:{name}")


def equity(kind: Literal["adjustment", "test_funding", "dismissed", "bank_opening", "rail_float"]) -> Account:
    """Corrections by operators, test money, dismissed transfers, opening balances of banks, the operator's own on rails."""
    return Account(f"equity:{kind}")


def expected_entries(
    transaction_id: UUID, journal_entry: JournalEntry, entry_ids: Sequence[UUID], client_id: str | None
) -> tuple[PostedEntry, ...]:
    """The entries that `ledger_post` writes for these postings, in its order, unless debt is repaid."""
    sides = (
        (posting, account, is_credit)
        for posting in journal_entry.postings
        for account, is_credit in ((posting.credit, True), (posting.debit, False))
    )
    touched = [(posting, account, account.merchant_id, credit) for posting, account, credit in sides if account.merchant_id]
    return tuple(
        PostedEntry(
            entry_id,
            transaction_id,
            merchant_id,
            posting.currency,
            cast("MerchantCode", account.code),
            cast("EntryType", "balance_payment_in" if posting.type == "balance_payment_out" and is_credit else posting.type),
            posting.amount_minor if is_credit != (account.code == "debt") else -posting.amount_minor,
            journal_entry.source,
            client_id,
        )
        for entry_id, (posting, account, merchant_id, is_credit) in zip(entry_ids, touched, strict=False)
    )


def new_entry_ids(postings: Sequence[Posting]) -> list[UUID]:
    """Ids for the entries of these postings: two each, and two more for a settlement of debt."""
    return [new_id() for _ in range(4 * len(postings))]
