"""Passwords: which are too common, and argon2id hashes, in separate lanes, so that one kind of caller never delays another.

Each lane has its own threads and a queue of limited length. A full lane raises an error at once, which limits the memory and
processor time of a flood.
"""

import ast
import asyncio
import string
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.limits import PASSWORD_CHARS_MIN

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
DUMMY_HASH = HASHER.hash("nobody has this password")
AROUND = string.punctuation + string.whitespace
SEPARATOR = ","
LIST_FOLLOWS, QUOTE = '"passwords": ', '"'


class HashingLane:
    """The threads and the queue of one kind of caller. `per_s` limits how many `paced` jobs start in a second."""

    def __init__(self, name: str, threads: int, *, per_s: float = 0) -> None:
        self._name = name
        self._threads = threads
        self._interval_s = 1 / per_s if per_s else 0.0
        self._next_at = 0.0
        self._executor = ThreadPoolExecutor(threads, f"argon2 {name}")
        self._pending = 0
        self._lock = threading.Lock()

    @property
    def pending(self) -> int:
        """The number of jobs that run or wait."""
        return self._pending

    def ensure_capacity(self, queue_max: int) -> None:
        """Raise `TemporarilyUnavailable` when `queue_max` jobs wait; 0 is no limit."""
        if queue_max and self._pending >= self._threads + queue_max:
            raise TemporarilyUnavailable(detail=f"{queue_max} passwords wait in the lane {self._name}")

    async def run(self, work: Callable[[], str | bool], queue_max: int, *, paced: bool = False) -> str | bool:
        """The result of `work`. Raises `TemporarilyUnavailable` when `queue_max` jobs wait; 0 is no limit."""
        with self._lock:
            self.ensure_capacity(queue_max)
            self._pending += 1
        try:
            if paced:
                await self._wait_for_start()
            job: Future[str | bool] = self._executor.submit(work)
        except BaseException:
            self._finish()
            raise
        job.add_done_callback(self._finish)
        return await asyncio.wrap_future(job)

    async def _wait_for_start(self) -> None:
        now = time.monotonic()
        with self._lock:
            at = max(now, self._next_at)
            self._next_at = at + self._interval_s
        if at > now:
            await asyncio.sleep(at - now)

    def _finish(self, _: "Future[str | bool] | None" = None) -> None:
        with self._lock:
            self._pending -= 1


SIGN_UP = HashingLane("sign-up", 1, per_s=5)
"""Five a second are enough for an instance, and limit the processor time that a flood of sign-ups takes."""
UNKNOWN_DEVICES = HashingLane("strangers", 2)
"""Sign-ins from browsers that have not signed in to the account before."""
KNOWN_DEVICES = HashingLane("known", 1)
"""Sign-ins from browsers that have signed in to the account before, and requests with a session."""
OPERATORS = HashingLane("operators", 1)


async def hash_password(password: str, lane: HashingLane = KNOWN_DEVICES, queue_max: int = 0, *, paced: bool = False) -> str:
    """The argon2id hash to store. Raises `TemporarilyUnavailable`."""
    return str(await lane.run(lambda: HASHER.hash(password), queue_max, paced=paced))


async def verify_password(
    password: str, stored_hash: str | None, lane: HashingLane = KNOWN_DEVICES, queue_max: int = 0
) -> bool:
    """Whether the hash is that of the password. Takes the same time when there is no account (`None`).

    Raises `TemporarilyUnavailable`.
    """
    return bool(await lane.run(lambda: _verify(password, stored_hash), queue_max))


def _verify(password: str, stored_hash: str | None) -> bool:
    try:
        return HASHER.verify(stored_hash or DUMMY_HASH, password) and stored_hash is not None
    except (VerificationError, InvalidHashError):
        return False


@cache
def common() -> str:
    """The list in lower case, a separator before and after each password.

    Read from the source of zxcvbn: importing it takes half a second, and 12 MB for all its lists.
    """
    package = find_spec("zxcvbn")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("zxcvbn")
    source = Path(package.origin).with_name("frequency_lists.py").read_text("utf-8")
    begin = source.index(LIST_FOLLOWS) + len(LIST_FOLLOWS)
    return SEPARATOR + ast.literal_eval(source[begin : source.index(QUOTE, begin + 1) + 1]) + SEPARATOR


def is_common(password: str) -> bool:
    """Whether it is in the list, in any case and with any punctuation around it, or repeats fewer than 10 characters."""
    folded = password.casefold()
    return _is_listed(folded) or _is_listed(folded.strip(AROUND)) or _period(folded) < PASSWORD_CHARS_MIN


def _is_listed(folded: str) -> bool:
    return SEPARATOR not in folded and f"{SEPARATOR}{folded}{SEPARATOR}" in common()


def _period(text: str) -> int:
    """The length of the repeated part; the whole length if nothing repeats."""
    return (text + text).find(text, 1)
