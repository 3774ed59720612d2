"""Statements and payouts: what an operator sees of them, and what other parts of the house have to do with them."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer import Payout
from tollhouse.rails.bank_transfer_statement import Side
from tollhouse.rails.provider import Observation
from tollhouse.web.house import House

PayoutKind = Literal["refund", "withdrawal"]
PayoutStatus = Literal["prepared", "exported", "confirmed", "returned", "refused"]
Outcome = Literal["payment", "payment_return", "payout", "payout_return", "unmatched", "dismissed"]

Effect = Callable[[Tx, Observation, House, datetime], Awaitable[bool]]
"""What a transfer means for the payment of its reference, in the transaction of the import; False: there is none for it."""

End = Callable[[Tx, MerchantEnv, UUID, House, datetime], Awaitable[object]]
"""What becomes of the order behind a payout. Raises a `Refusal` where that cannot be, before it writes."""


class Origin(Struct, frozen=True):
    """Where payouts of one kind come from, and who is told what became of each."""

    waiting: Callable[[Tx], Awaitable[list[Payout]]]
    sent: End
    came_back: End
    refused: End


class Desk(Struct, frozen=True):
    """What the rest of the house does with what the bank says. Handed in where the house is put together."""

    observe: Effect
    take_back: Effect
    origins: Mapping[PayoutKind, Origin]


class Clerk(Struct, frozen=True):
    """The operator who does it, when, and why."""

    name: str
    at: datetime
    reason: str = ""


class KeptPayout(Struct, frozen=True, kw_only=True):
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


class ListedStatement(Struct, frozen=True):
    """A statement in the operator's list."""

    id: UUID
    statement_id: str
    iban: str
    first_on: date | None
    last_on: date | None
    entries: int
    imported_by: str
    imported_at: Timestamp


class ListedTransfer(Struct, frozen=True):
    """A transfer that waits for an operator, and why."""

    id: UUID
    booked_on: date
    side: Side
    amount: str
    currency: str
    because: str
    other_name: str | None
    other_iban: str | None
    words: str


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
    batch_id: UUID | None
    prepared_at: Timestamp
    ended_because: str | None


class Decided(Struct, frozen=True):
    """What an operator did with a transfer or a payout."""

    id: UUID
    outcome: str
    operator: str
    reason: str
    at: Timestamp


class BankRefusedError(Exception):
    """What was asked cannot be done; the sentence says why. Nothing changed."""
