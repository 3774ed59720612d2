"""A standby, which is read only if it has everything that was committed before: it is never behind its reader."""

import asyncio
import time

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database import server_store as store
from tollhouse.platform.database.errors import UNREACHABLE
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.transaction import Row
from tollhouse.platform.log import metrics
from tollhouse.platform.log.events import log

WAIT_MS = 500
"""For the standby to be reached and to have replayed what is committed; otherwise the primary serves."""
POLL_EVERY_MS = 10
AVOID_FOR_S, NS = 10, 1_000_000_000
"""How long a standby that was late is not asked, so that not every report waits for it."""
READS = metrics.Counter(
    "tollhouse_report_reads",
    "Reports, exports and home pages by the server that they were read from, where a standby is configured.",
    ["server"],
    [("standby",), ("primary",)],
    sparse=True,
)


class Replica:
    """A standby of the primary, with connections of its own."""

    def __init__(self, db: Pool) -> None:
        self.db = db
        self._avoided_until_ns = 0

    async def choose(self, primary: Pool) -> Pool:
        """The standby if it has everything that is committed now, or will within `WAIT_MS`; otherwise the primary."""
        if time.monotonic_ns() >= self._avoided_until_ns:
            obstacle = await self.catch_up(primary)
            if not obstacle:
                READS.add("standby")
                return self.db
            self._avoided_until_ns = time.monotonic_ns() + AVOID_FOR_S * NS
            log.warning("standby_avoided", reason=obstacle, retry_after_s=AVOID_FOR_S)
        READS.add("primary")
        return primary

    async def catch_up(self, primary: Pool) -> str:
        """Wait until the standby has everything that is committed now, for at most `WAIT_MS`.

        Returns why it cannot be read, empty if it can: `other` server, `behind`, or the name of an error.
        """
        [position] = await primary.fetch(store.COMMITTED)
        try:
            async with asyncio.timeout(WAIT_MS / 1000):
                progress = await self._progress(position)
                while progress["is_standby"] and not progress["has_replayed"]:
                    await asyncio.sleep(POLL_EVERY_MS / 1000)
                    progress = await self._progress(position)
        except TimeoutError:
            return "behind"
        except (*UNREACHABLE, TemporarilyUnavailable) as error:
            return type(error.__cause__ or error).__name__
        return "" if progress["is_standby"] else "other"

    async def _progress(self, position: Row) -> Row:
        [progress] = await self.db.fetch(store.STANDBY_PROGRESS, *position)
        return progress
