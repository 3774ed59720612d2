"""Whether this process is about to stop: it still answers, but asks proxies and clients to go elsewhere."""

import time

from msgspec import Struct


class Draining(Struct):
    """When the process stops answering, by the monotonic clock; None while nobody has asked it to stop."""

    ends_at_ns: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the process was asked to stop."""
        return self.ends_at_ns is not None

    @property
    def is_over(self) -> bool:
        """Whether it may stop now."""
        return self.ends_at_ns is not None and time.monotonic_ns() >= self.ends_at_ns

    def begin(self, seconds: int) -> None:
        """Stop in so many seconds."""
        self.ends_at_ns = time.monotonic_ns() + seconds * 1_000_000_000


DRAINING = Draining()
"""That of this process."""
