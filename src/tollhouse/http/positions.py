"""The position of a row in a list that is sorted by time and ID."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import Struct

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
POSITION_BYTES = 24


class Position(Struct, frozen=True, order=True):
    """The position of a row in a list: its time, and its id among rows of the same time."""

    at: datetime
    id: UUID

    @property
    def encoded(self) -> bytes:
        """24 bytes: microseconds since 1970, and the id."""
        return ((self.at - EPOCH) // MICROSECOND).to_bytes(8, signed=True) + self.id.bytes


def decode_position(encoded: bytes) -> Position | None:
    """The position of its 24 bytes; None if they are not one."""
    if len(encoded) != POSITION_BYTES:
        return None
    try:
        return Position(EPOCH + int.from_bytes(encoded[:8], signed=True) * MICROSECOND, UUID(bytes=encoded[8:]))
    except OverflowError:
        return None
