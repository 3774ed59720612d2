"""Who may call now: rooms for kinds of destinations, so that slow and dead ones cannot delay those that answer promptly.

A destination is what its last call showed, in the memory of each worker: prompt, slow, dead, or not known yet. Where that
call delivered, retries have the same places as first attempts, so that what piled up is sent once it is healthy again. Each
kind has a room of calls that nobody else can fill. A call that lasts longer than is prompt leaves its room at once and
counts as slow, so that even a destination that has just turned bad holds a place among the prompt ones for a second only.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from enum import IntEnum

from msgspec import Struct, field

PROMPT_MS = 1_000
SLOW_MS = 5_000
CLAIMED_MAX = 64
"""Rows of a lane in one claim: a quarter of the prompt room, so that the next are claimed while others are sent."""
REMEMBERED_MAX = 100_000
LINGERING_MAX = 512
"""Calls that have become slow or dead while they were under way: beyond them nobody who is not known gets a try."""
MERCHANT_BITS = 31
"""A destination's key without these is its merchant's environment: see `destination_key`."""


class Lane(IntEnum):
    """Where a row waits, as the table keeps it."""

    FIRST = 0
    AGAIN = 1
    ASIDE = 2


class Kind(IntEnum):
    """What kind of call it is."""

    PROMPT = 0
    TRIAL = 1
    SLOW = 2
    DEAD = 3


class Room(Struct, frozen=True):
    """Calls at once of a kind: in all, for one merchant's environment, and for one destination."""

    calls: int
    per_merchant: int
    per_destination: int


ROOMS = {
    Kind.PROMPT: Room(256, 32, 4),
    Kind.TRIAL: Room(64, 16, 1),
    Kind.SLOW: Room(32, 8, 2),
    Kind.DEAD: Room(16, 4, 1),
}
"""Of one worker process: a fleet makes this many times its size."""


class Call(Struct, frozen=True):
    """A call under way: to whom, of which kind, and since when by a clock that only goes forward."""

    key: int
    kind: Kind
    since_ms: int

    def kind_at(self, now_ms: int) -> Kind:
        """What it counts as: its kind while it is prompt, then slow, then dead."""
        lasted_ms = now_ms - self.since_ms
        return self.kind if lasted_ms <= PROMPT_MS else max(self.kind, kind_of(lasted_ms))


class Turn(Struct, frozen=True):
    """Up to `room` rows of a destination may be claimed from a lane, for calls of this kind."""

    lane: Lane
    key: int
    room: int
    kind: Kind


class Turns(Struct):
    """Whose turn it is; who has none now because of what kind they are; and whether a room or the claim became full."""

    turns: list[Turn] = field(default_factory=list[Turn])
    aside: list[int] = field(default_factory=list[int])
    full: bool = False


def kind_of(duration_ms: int) -> Kind:
    """What a call of this length shows about its destination, however it was answered."""
    return Kind.PROMPT if duration_ms <= PROMPT_MS else Kind.SLOW if duration_ms <= SLOW_MS else Kind.DEAD


class Shown(Struct, frozen=True):
    """What a call showed of its destination."""

    kind: Kind
    delivered: bool


UNKNOWN = Shown(Kind.TRIAL, delivered=False)


class Memory:
    """What the last call to each destination showed. Lost with the worker; learnt again from the next call."""

    def __init__(self) -> None:
        self._shown: OrderedDict[int, Shown] = OrderedDict()

    def learn(self, key: int, duration_ms: int, *, delivered: bool) -> None:
        """A call has ended, or has lasted so long already."""
        self._shown[key] = Shown(kind_of(duration_ms), delivered)
        self._shown.move_to_end(key)
        if len(self._shown) > REMEMBERED_MAX:
            self._shown.popitem(last=False)

    def kind(self, key: int, lane: Lane) -> Kind:
        """Of a call to this destination. A retry has the room of the prompt only where the last call delivered."""
        known = self._shown.get(key, UNKNOWN)
        failing = known.kind is Kind.PROMPT and not known.delivered
        return Kind.TRIAL if failing and lane is Lane.AGAIN else known.kind

    def any_prompt(self, lane: Lane, keys: Iterable[int]) -> bool:
        """Whether one of these destinations of a lane has the room of the prompt: such a lane is soon worth another look."""
        return any(self.kind(key, lane) is Kind.PROMPT for key in keys)


class Places:
    """The places that are free at a moment, and what is taken of them."""

    def __init__(self, calls: Iterable[Call], memory: Memory, now_ms: int) -> None:
        self._memory = memory
        self._taken: defaultdict[Kind, int] = defaultdict(int)
        self._of_merchant: defaultdict[tuple[Kind, int], int] = defaultdict(int)
        self._of_destination: defaultdict[int, int] = defaultdict(int)
        now = [(call.kind_at(now_ms), call.kind, call.key) for call in calls]
        for (kind, _, key), count in Counter(now).items():
            self._take(kind, key, count)
        self._crowded = sum(kind is not began_as for kind, began_as, _ in now) >= LINGERING_MAX

    def any_for(self, lane: Lane) -> bool:
        """Whether looking into a lane can be of use."""
        kinds = (Kind.PROMPT, Kind.TRIAL) if lane is Lane.FIRST else tuple(Kind)
        return any(self._taken[kind] < ROOMS[kind].calls for kind in kinds)

    def share_out(self, lane: Lane, keys: Sequence[int]) -> Turns:
        """A turn for each of these destinations, in their order, as far as there is room."""
        shared, left = Turns(), CLAIMED_MAX
        for key in keys:
            kind = self._memory.kind(key, lane)
            free = min(self._free(kind, key), left)
            if free > 0:
                self._take(kind, key, free)
                left -= free
                shared.turns.append(Turn(lane, key, free, kind))
            elif kind is not Kind.PROMPT:
                shared.aside.append(key)
            shared.full = shared.full or left == 0 or self._taken[kind] >= ROOMS[kind].calls
            if left == 0:
                break
        return shared

    def _free(self, kind: Kind, key: int) -> int:
        room = ROOMS[kind]
        if kind is Kind.TRIAL and self._crowded:
            return 0
        return min(
            room.calls - self._taken[kind],
            room.per_merchant - self._of_merchant[kind, key >> MERCHANT_BITS],
            room.per_destination - self._of_destination[key],
        )

    def _take(self, kind: Kind, key: int, count: int) -> None:
        self._taken[kind] += count
        self._of_merchant[kind, key >> MERCHANT_BITS] += count
        self._of_destination[key] += count
