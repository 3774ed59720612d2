"""Passwords: argon2id, in lanes of threads and queues of their own, so that no kind of caller can keep another one waiting.

A lane that has as many waiting as may wait refuses the next one at once. So a flood costs neither memory nor time of others.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tollhouse.kernel.errors import TemporarilyUnavailable

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
DUMMY_HASH = HASHER.hash("nobody has this password")


class HashingLane:
    """Threads for one kind of caller.

    A lane with `per_s` starts no more than that in a second of what is `paced`.
    """

    def __init__(self, name: str, threads: int, *, per_s: float = 0) -> None:
        self._name = name
        self._threads = threads
        self._interval_s = 1 / per_s if per_s else 0.0
        self._next_at = 0.0
        self._executor = ThreadPoolExecutor(threads, f"argon2 {name}")
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """How many are being hashed or wait."""
        return self._taken

    def require_room(self, queue_max: int) -> None:
        """Raise `TemporarilyUnavailable` where `queue_max` wait already; 0 is no limit."""
        if queue_max and self._taken >= self._threads + queue_max:
            raise TemporarilyUnavailable(detail=f"{queue_max} passwords wait in the lane {self._name}")

    async def run(self, work: Callable[[], str | bool], queue_max: int, *, paced: bool = False) -> str | bool:
        """What the work returns. Raises `TemporarilyUnavailable` where `queue_max` wait already; 0 is no limit."""
        with self._lock:
            self.require_room(queue_max)
            self._taken += 1
        try:
            if paced:
                await self._turn()
            job: Future[str | bool] = self._executor.submit(work)
        except BaseException:
            self._leave()
            raise
        job.add_done_callback(self._leave)
        return await asyncio.wrap_future(job)

    async def _turn(self) -> None:
        now = time.monotonic()
        with self._lock:
            at = max(now, self._next_at)
            self._next_at = at + self._interval_s
        if at > now:
            await asyncio.sleep(at - now)

    def _leave(self, _: "Future[str | bool] | None" = None) -> None:
        with self._lock:
            self._taken -= 1


SIGN_UP = HashingLane("sign-up", 1, per_s=5)
"""A shop's instance has no use for more, and a flood of them gets no more of the processor."""
UNKNOWN_DEVICES = HashingLane("strangers", 2)
"""Sign-ins of browsers that were not seen before."""
KNOWN_DEVICES = HashingLane("known", 1)
"""Sign-ins of browsers that signed in to the account before, and whatever a session asks for."""
OPERATORS = HashingLane("operators", 1)


async def hash_password(password: str, lane: HashingLane = KNOWN_DEVICES, queue_max: int = 0, *, paced: bool = False) -> str:
    """The argon2id hash to keep. Raises `TemporarilyUnavailable`."""
    return str(await lane.run(lambda: HASHER.hash(password), queue_max, paced=paced))


async def verify_password(password: str, kept: str | None, lane: HashingLane = KNOWN_DEVICES, queue_max: int = 0) -> bool:
    """Whether this is the password of the kept hash. Takes the same time when there is no such account (`None`).

    Raises `TemporarilyUnavailable`.
    """
    return bool(await lane.run(lambda: _verify(password, kept), queue_max))


def _verify(password: str, kept: str | None) -> bool:
    try:
        return HASHER.verify(kept or DUMMY_HASH, password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False
