"""Statements, transfers, payouts and batches."""

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import astuple

from tollhouse.kernel.bank_codes import parse_iban
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.provider import Payer
from tollhouse.kernel.text import Text, Translatable
from tollhouse.platform.database.records import Selected
from tollhouse.rails.bank.files.statement import Side
from tollhouse.rails.batches.model import Order, OrderKind

PayoutStatus = Literal["prepared", "exported", "confirmed", "returned", "refused"]
Outcome = Literal[
    "payment", "payment_return", "payout", "payout_return", "unmatched", "dismissed", "fee", "written_off", "provider_payout"
]


class StoredPayout(Order, frozen=True, kw_only=True):
    """A payout, locked until the transaction ends."""

    currency: str
    amount_minor: int
    status: PayoutStatus
    debited: Annotated[bool, Selected("{row}.debited_at IS NOT NULL")]
    batch_id: UUID | None


AccountKey = tuple[str, str]
"""IBAN and currency: one IBAN can have an account in each of several currencies."""


class BookedAccount(Struct, frozen=True):
    """A bank account in the books. `balance_minor` is that of the ledger, without the statement that is being imported.

    `first_opening_minor` is the balance before all entries; None if it is unknown, because statements did not have to follow
    each other then. `importing_id` is the statement whose entries are being posted, and `next_balance_minor` the
    balance when they are.
    """

    iban: str
    currency: str
    first_opening_minor: int | None
    first_on: date
    balance_minor: int
    last_on: date
    last_statement_id: UUID | None = None
    importing_id: UUID | None = None
    next_balance_minor: int | None = None


class Extension(Struct, frozen=True):
    """What a statement adds to the books: the balance before and after its new entries.

    `is_earlier`: they were booked before the books began. `is_complete`: it has no new entries.
    """

    before_minor: int
    after_minor: int
    is_earlier: bool
    is_complete: bool


class Imported(Struct, frozen=True):
    """The result of an import: the numbers of new statements and entries, and of matched and unmatched transfers."""

    statements: int
    new_entries: int
    known_entries: int
    placed: int
    unmatched: int

    def plus(self, other: "Imported") -> "Imported":
        """Both results as one."""
        return Imported(*(count + another for count, another in zip(astuple(self), astuple(other), strict=True)))

    @property
    def words(self) -> Translatable:
        """The result as a message for the operator."""
        if self.new_entries:
            return Text(
                "New entries: %(new_entries)s. Imported before: %(known_entries)s. "
                "Matched transfers: %(placed)s. Unmatched transfers: %(unmatched)s.",
                new_entries=self.new_entries,
                known_entries=self.known_entries,
                placed=self.placed,
                unmatched=self.unmatched,
            )
        if self.statements:
            return "The statement has no new entries. No balances were changed."
        return "This statement was already imported. Nothing was changed."


class ListedStatement(Struct, frozen=True):
    """A statement in the list. `unmatched` counts the unmatched transfers of its new entries."""

    id: UUID
    statement_id: str
    iban: str
    first_on: date | None
    last_on: date | None
    entries: int
    new_entries: int
    unmatched: int
    imported_by: str
    imported_at: Timestamp


class ShownStatement(Struct, frozen=True):
    """A statement with its balances, which are None if the bank left them out."""

    listed: ListedStatement
    currency: str | None
    opening: str | None
    closing: str | None


class ListedTransfer(Struct, frozen=True):
    """An unmatched transfer and the reason."""

    id: UUID
    booked_on: date
    side: Side
    amount: str
    currency: str
    reason: str
    other_name: str | None
    other_iban: str | None
    words: str

    @property
    def reason_text(self) -> Translatable:
        """Why it is unmatched, for pages."""
        return read_reason(self.reason)


class ShownTransfer(Struct, frozen=True, kw_only=True):
    """A transfer with its bank data and its outcome."""

    id: UUID
    statement_id: UUID
    booked_on: date
    side: Side
    amount: str
    amount_minor: int
    currency: str
    is_return: bool
    other_name: str | None
    other_iban: str | None
    words: str
    end_to_end_id: str | None
    bank_reference: str | None
    return_reason: str | None
    outcome: Outcome
    reference: str | None
    payout_id: UUID | None
    batch_id: UUID | None
    reason: str | None
    decided_by: str | None
    decided_reason: str | None
    decided_at: Timestamp | None

    @property
    def reason_text(self) -> Translatable:
        """Why it is or was unmatched, for pages; empty if it never was."""
        return read_reason(self.reason or "")


class ListedPayout(Struct, frozen=True):
    """A payout in the list. A bank can reject it for its `missing_details`, such as `bic, address`."""

    id: UUID
    kind: OrderKind
    status: PayoutStatus
    amount: str
    currency: str
    receiver_iban: str
    receiver_name: str
    merchant_id: MerchantId
    business_name: str
    batch_id: UUID | None
    prepared_at: Timestamp
    ended_reason: str | None
    receiver_bic: str | None
    receiver_address: str | None
    missing_details: str | None


class Announcement(Struct, frozen=True):
    """A transfer that the bank has announced and that is on no statement yet."""

    side: Side
    amount: str
    currency: str
    booked_on: date
    other_name: str | None
    other_iban: str | None
    words: str
    announced_at: Timestamp


class ListedReport(Struct, frozen=True):
    """What the bank has reported about a batch. `status` is the bank's code for all of it, `reason` that of a rejection."""

    message_id: str
    status: str | None
    rejected: int
    unchanged: int
    reason: str | None
    imported_by: str
    imported_at: Timestamp


class OverduePayout(Struct, frozen=True):
    """An exported payout that no statement shows, and how many bank days ago it was exported."""

    listed: ListedPayout
    exported_at: Timestamp
    bank_days: int


class ShownPayout(Struct, frozen=True):
    """A payout in detail. `ended_by` is the operator who refused it."""

    listed: ListedPayout
    words: str
    exported_at: Timestamp | None
    debited_at: Timestamp | None
    ended_by: str | None
    updated_at: Timestamp


class Prepared(Struct, frozen=True):
    """The number of prepared payouts and their total."""

    payouts: int
    amount: str
    currency: str


class ListedBatch(Struct, frozen=True):
    """A batch with the number of its payouts in each status."""

    id: UUID
    iban: str
    exported_by: str
    exported_at: Timestamp
    payouts: int
    amount: str
    currency: str
    exported: int
    confirmed: int
    returned: int
    refused: int


NOTHING_LEFT = "All payouts of this batch were refused."
ENDED_OTHERWISE = "The withdrawal or refund of this payout has already ended: "


def ended_otherwise(code: str) -> Text:
    """Why a payout's transfer is unmatched, by the code of the error of its refund or withdrawal."""
    return Text("The withdrawal or refund of this payout has already ended: %(code)s.", code=code)


def payer_of(iban: str | None, name: str | None) -> Payer | None:
    """Who sent a transfer; None without the IBAN of an account."""
    account = None if iban is None else parse_iban(iban)
    return None if account is None else Payer(account, name)


def read_reason(stored: str) -> Translatable:
    """A stored reason why a transfer is unmatched: a text without values, but for `ended_otherwise`."""
    code = stored.removeprefix(ENDED_OTHERWISE)
    return stored if code == stored else ended_otherwise(code.removesuffix("."))
