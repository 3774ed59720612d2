"""A limit on how many use something at the same time: first come, first served, and nobody waits too long.

Cheaper than a semaphore and a timeout for each wait: one timer looks after all who wait.
"""

import asyncio
from collections import deque


class DeadlineSemaphore:
    """`limit` slots. `acquire` waits for one; its holder must `release` it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free = limit
        self._waiters: deque[tuple[float, asyncio.Future[None]]] = deque()
        """With deadlines by the clock of the event loop, the earliest first: all wait equally long."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return sum(not given.done() for _, given in self._waiters)

    def try_acquire(self) -> bool:
        """Take a slot if one is free. Nobody waits while one is free."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def acquire(self, within_s: float) -> None:
        """Take a slot. Raises `TimeoutError`."""
        if self.try_acquire():
            return
        loop = asyncio.get_running_loop()
        given: asyncio.Future[None] = loop.create_future()
        deadline = loop.time() + within_s
        self._waiters.append((deadline, given))
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._expire)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled() and given.exception() is None:
                self.release()  # it was given at the moment of the cancellation
            raise

    def release(self) -> None:
        """Give the slot to the one that has waited longest, or free it."""
        while self._waiters:
            _, given = self._waiters.popleft()
            if not given.done():
                given.set_result(None)
                return
        self._free += 1

    def _expire(self) -> None:
        """End the waits whose deadline has passed."""
        loop = asyncio.get_running_loop()
        while self._waiters and (self._waiters[0][0] <= loop.time() or self._waiters[0][1].done()):
            _, given = self._waiters.popleft()
            if not given.done():
                given.set_exception(TimeoutError())
        self._timer = loop.call_at(self._waiters[0][0], self._expire) if self._waiters else None
