"""Statements and payouts: what an operator sees of them, and what other parts of the house have to do with them."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer import Payout
from tollhouse.rails.bank_transfer_statement import Side
from tollhouse.rails.provider import Observation

PayoutKind = Literal["refund", "withdrawal"]
PayoutStatus = Literal["prepared", "exported", "confirmed", "returned", "refused"]
Outcome = Literal["payment", "payment_return", "payout", "payout_return", "unmatched", "dismissed"]

Doing = Literal[
    "statement_imported", "transfer_assigned", "transfer_dismissed", "batch_exported", "payout_approved", "payout_refused"
]


Owner = Callable[[Tx, str], Awaitable[MerchantId | None]]
"""Whose payment has this reference; None where none has."""

Effect = Callable[[Tx, Observation, Services, datetime], Awaitable[bool]]
"""What a transfer means for the payment of its reference, in the transaction of the import; False: there is none for it."""

End = Callable[[Tx, MerchantEnv, UUID, Services, datetime], Awaitable[object]]
"""What becomes of the order behind a payout. Raises a `ApiError` where that cannot be, before it writes."""

Keep = Callable[[Tx, OperatorContext, Doing, UUID, MerchantEnv | None], Awaitable[UUID]]
"""Keep in the history what the clerk does to a statement, transfer, batch or payout, in the transaction that does it.

The environment is that of the merchant whose it is, where it is one's. The answer is the id of what is kept.
"""


class Origin(Struct, frozen=True):
    """Where payouts of one kind come from, and who is told what became of each."""

    waiting: Callable[[Tx], Awaitable[list[Payout]]]
    sent: End
    came_back: End
    refused: End


class BankPorts(Struct, frozen=True):
    """What the rest of the house does with what the bank says. Handed in by the doors."""

    owner: Owner
    observe: Effect
    take_back: Effect
    origins: Mapping[PayoutKind, Origin]
    keep: Keep


class StoredPayout(Struct, frozen=True, kw_only=True):
    """A payout as it is kept, held still."""

    id: UUID
    kind: PayoutKind
    env: MerchantEnv
    currency: str
    amount_minor: int
    status: PayoutStatus
    debited: bool


class Imported(Struct, frozen=True):
    """What came of importing a file: how many statements and entries were new, and what was done with the new transfers."""

    statements: int
    new_entries: int
    known_entries: int
    placed: int
    unmatched: int

    @property
    def words(self) -> str:
        """The same, for an operator."""
        if self.new_entries:
            entries = "entry" if self.new_entries == 1 else "entries"
            were, wait = "was" if self.placed == 1 else "were", "waits" if self.unmatched == 1 else "wait"
            return (
                f"{self.new_entries} new {entries}, {self.known_entries} known before. "
                f"Of the new transfers {self.placed} {were} placed, {self.unmatched} {wait} for you."
            )
        return "No entry is new: no money was moved." if self.statements else "This was imported before: nothing changed."


class ListedStatement(Struct, frozen=True):
    """A statement in the operator's list. `unmatched` of the transfers that it was the first to show still wait."""

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
    """A statement on its own. Balances are missing where the bank left them out."""

    listed: ListedStatement
    currency: str | None
    opening: str | None
    closing: str | None


class ListedTransfer(Struct, frozen=True):
    """A transfer that waits for an operator, and why."""

    id: UUID
    booked_on: date
    side: Side
    amount: str
    currency: str
    reason: str
    other_name: str | None
    other_iban: str | None
    words: str


class ShownTransfer(Struct, frozen=True, kw_only=True):
    """A transfer on its own: what the bank said of it, and what it was taken for by whom."""

    id: UUID
    statement_id: UUID
    booked_on: date
    side: Side
    amount: str
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


class ListedPayout(Struct, frozen=True):
    """A payout in the operator's list."""

    id: UUID
    kind: PayoutKind
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


class ShownPayout(Struct, frozen=True):
    """A payout on its own. `ended_by` an operator, where one refused it."""

    listed: ListedPayout
    words: str
    exported_at: Timestamp | None
    debited_at: Timestamp | None
    ended_by: str | None
    updated_at: Timestamp


class Prepared(Struct, frozen=True):
    """All that is prepared: how many payouts, and their sum."""

    payouts: int
    amount: str
    currency: str


class ListedBatch(Struct, frozen=True):
    """A batch in the operator's list, and how many of its payouts are in which state now."""

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


class Decided(Struct, frozen=True):
    """What an operator did with a transfer or a payout; `action_id` is that of the history."""

    id: UUID
    outcome: str
    operator: str
    reason: str
    at: Timestamp
    action_id: UUID

    @property
    def summary(self) -> str:
        """The outcome and its subject."""
        return f"{self.outcome} {self.id}"


class BankRefusedError(OperatorRefusedError):
    """What was asked cannot be done; the sentence says why. Nothing changed."""
