"""What bank statements say, however it is written: statements, their entries, and the transfers of an entry."""

from datetime import date, datetime
from typing import Literal, NamedTuple

from msgspec import Struct

from tollhouse.kernel.bank_codes import PostalAddress

Side = Literal["credit", "debit"]
ImportKind = Literal["statement", "notification", "report"]


class Part(Struct, frozen=True, kw_only=True):
    """One transfer of an entry, as sender and banks described it.

    `return_reason` is a code such as AC04 for a returned transfer, empty if the bank gave none; None if it is no return.
    `sent_at` is when the payer's bank accepted the transfer, which few banks state. `other_bic` and `other_address` are
    those of the other party, as far as they are stated and valid.
    """

    amount_minor: int
    end_to_end_id: str | None = None
    bank_reference: str | None = None
    structured: str = ""
    unstructured: str = ""
    other_name: str | None = None
    other_iban: str | None = None
    return_reason: str | None = None
    sent_at: datetime | None = None
    other_bic: str | None = None
    other_address: PostalAddress | None = None


class EntryHead(Struct, frozen=True, kw_only=True):
    """What an entry does to the balance. `identity` is the same in every statement that contains it.

    `former_identity` is the one that earlier versions gave a reversal, which they did not tell from another entry.
    """

    identity: bytes
    side: Side
    amount_minor: int
    booked_on: date
    former_identity: bytes | None = None


class Entry(EntryHead, frozen=True, kw_only=True):
    """One booked entry of an account. A reversal undoes an earlier entry of the opposite side.

    `parts` add up to the entry: a batch without details is one part with `batch_id` alone.
    """

    currency: str
    is_reversal: bool
    batch_id: str | None
    bank_reference: str | None
    parts: tuple[Part, ...]

    @property
    def undoes(self) -> bool:
        """Whether it undoes an earlier transfer."""
        return self.is_reversal or any(part.return_reason is not None for part in self.parts)


class Statement(Struct, frozen=True, kw_only=True):
    """A statement of one account. Balances are None if the bank omitted them; negative is overdrawn.

    `closing_on` is the day of the closing balance, or of the last entry if the bank omitted it. One of several pages has an
    opening balance only if it is the first, and a closing balance only if it is the last. `currency` is None if it is stated
    nowhere.
    """

    iban: str
    statement_id: str
    currency: str | None
    opening_minor: int | None
    closing_minor: int | None
    closing_on: date | None
    entries: tuple[EntryHead, ...]


class ReadEntry(NamedTuple):
    """An entry of the statement with this number in its file, and its own number there. Both count from 0."""

    statement: int
    nth: int
    entry: Entry


class Repeat(NamedTuple):
    """An entry with the reference and facts of an earlier one of its statement: where it is, as in `ReadEntry`."""

    statement: int
    nth: int
    head: EntryHead
    undoes: bool
