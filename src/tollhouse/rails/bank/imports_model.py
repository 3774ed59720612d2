"""An import of a file of the bank."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct, structs

from tollhouse.kernel.text import Text, Translatable
from tollhouse.rails.bank.files.statement import ImportKind
from tollhouse.rails.bank.model import Imported

ImportState = Literal["uploaded", "unconfirmed", "importing", "imported", "refused", "stopped"]


class FileImport(Struct, frozen=True, kw_only=True):
    """An import of a file, whose `kind` is known once it was read. `reason` says why it was refused, or why it stopped.

    An unconfirmed one waits for operators. It was uploaded `on_command_line` if no operator did it on the pages.

    `statement` is the position of the one that is being imported, `statement_id` its id once that has begun, and
    `next_entry` the place from which on its entries are not imported. `entries` is 0 until the file was read and checked.
    """

    id: UUID
    size_bytes: int
    status: ImportState
    kind: ImportKind | None
    reason: Translatable | None
    entries: int
    statement: int
    statement_id: UUID | None
    next_entry: int
    imported: Imported
    uploaded_by: str
    uploaded_at: datetime
    on_command_line: bool
    confirmed_at: datetime | None

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status in {"uploaded", "importing"}

    @property
    def counts(self) -> dict[str, str | int]:
        """What came of it, for programs."""
        counts = self.imported
        if self.kind == "notification":
            return {"kind": self.kind, "announced": counts.new_entries, "announced_before": counts.known_entries}
        if self.kind == "report":
            return {"kind": self.kind, "rejected": counts.placed, "unchanged": counts.unmatched}
        return structs.asdict(counts)

    @property
    def words(self) -> Translatable:
        """What came of it, as a message for the operator."""
        counts = self.imported
        if self.kind == "notification":
            return Text(
                "Announced transfers: %(new)s. Announced before: %(known)s. Balances change when a statement shows them.",
                new=counts.new_entries,
                known=counts.known_entries,
            )
        if self.kind == "report":
            return Text(
                "Payouts that the bank rejected: %(rejected)s. Rejections without effect: %(unchanged)s.",
                rejected=counts.placed,
                unchanged=counts.unmatched,
            )
        return counts.words

    @property
    def done(self) -> int:
        """How many of its entries are imported, now or before."""
        return self.imported.new_entries + self.imported.known_entries
