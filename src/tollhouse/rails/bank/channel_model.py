"""The channel to the bank: where its files come from and go to, and how that went."""

from pathlib import Path
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.platform.settings.config import Settings


class Channel(Struct, frozen=True):
    """The folders, and the program that fetches and sends. Without any, operators carry the files."""

    inbox: Path | None
    outbox: Path | None
    program: Path | None

    @property
    def sends(self) -> bool:
        """Whether exported batches are sent."""
        return self.outbox is not None or self.program is not None


class Leased(Struct, frozen=True):
    """A batch that this worker is sending, and how often that was tried, this time included."""

    batch_id: UUID
    tries: int


class Sending(Struct, frozen=True):
    """How sending a batch went. Without `sent_at` and `next_try_at` nothing of it was left to send."""

    tries: int
    next_try_at: Timestamp | None
    error: str | None
    sent_at: Timestamp | None


class Fetches(Struct, frozen=True):
    """When files were last fetched, and since when that fails."""

    fetched_at: Timestamp | None
    error: str | None
    failed_since: Timestamp | None


def channel_of(settings: Settings) -> Channel:
    """The channel that these settings describe."""
    return Channel(settings.bank_inbox, settings.bank_outbox, settings.bank_program)
