"""What an export and an erasure contain."""

from typing import Any
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp


class PersonExport(Struct, frozen=True):
    """What is kept about an email address: the rows by table, and why the rest is not in it.

    Amounts are decimal numbers as text. `data` has only tables with rows.
    """

    email: str
    exported_at: Timestamp
    data: dict[str, list[dict[str, Any]]]
    not_included: dict[str, str]


class KeptData(Struct, frozen=True):
    """Rows that stay after an erasure: why, and until when."""

    table: str
    rows: int
    reason: str


class PersonErasure(Struct, frozen=True):
    """The rows that an erasure deletes or clears, by table, and those that stay."""

    deleted: dict[str, int]
    cleared: dict[str, int]
    kept: list[KeptData]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to erase."""
        return not any(self.deleted.values()) and not any(self.cleared.values())


class MerchantErasure(Struct, frozen=True):
    """The rows that the erasure of a merchant deleted, by table, and the links whose customer's address it removed."""

    deleted: dict[str, int]
    links_cleared: int


class ErasureRecord(Struct, frozen=True):
    """An erasure without the address: a line of the file that is kept outside. `email_mac` is in hexadecimal."""

    id: UUID
    at: Timestamp
    email_mac: str
