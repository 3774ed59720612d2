"""Bulkheads: limits on concurrent calls by kind of destination, so that slow and dead ones cannot delay prompt ones.

The kind follows from the last call, which each worker remembers: prompt, slow, dead, or a probe while unknown. After a
delivery, retries have the same slots as first attempts, so that a backlog drains once the destination is healthy. A call
that takes longer than `PROMPT_MS` leaves its bulkhead at once and counts as slow: a destination that has just become slow
occupies a prompt slot for one second at most.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from enum import IntEnum

from msgspec import Struct, field

PROMPT_MS = 1_000
SLOW_MS = 5_000
CLAIM_MAX = 64
"""Rows of a lane in one claim: a quarter of the prompt bulkhead, so that claiming overlaps with sending."""
REMEMBERED_MAX = 100_000
LINGERING_MAX = 512
"""Calls that became slow or dead while under way. At this number, unknown destinations are not probed."""
MERCHANT_BITS = 31
"""Shifting a destination key right by these bits leaves the merchant's environment: see `destination_key`."""


class Lane(IntEnum):
    """The queue of a delivery, as stored in `webhook_deliveries.lane`."""

    FIRST = 0
    RETRY = 1
    DEFERRED = 2


class CallKind(IntEnum):
    """The kind of a call, which decides its bulkhead."""

    PROMPT = 0
    PROBE = 1
    SLOW = 2
    DEAD = 3


class Bulkhead(Struct, frozen=True):
    """Concurrent calls of a kind: in all, per merchant environment, and per destination."""

    calls: int
    per_merchant: int
    per_destination: int


BULKHEADS = {
    CallKind.PROMPT: Bulkhead(256, 32, 4),
    CallKind.PROBE: Bulkhead(64, 16, 1),
    CallKind.SLOW: Bulkhead(32, 8, 2),
    CallKind.DEAD: Bulkhead(16, 4, 1),
}
"""Limits of one worker process."""


class Call(Struct, frozen=True):
    """A call under way. `started_ms` is of a monotonic clock."""

    key: int
    kind: CallKind
    started_ms: int

    def kind_at(self, now_ms: int) -> CallKind:
        """Its kind while it is prompt, then slow, then dead."""
        duration_ms = now_ms - self.started_ms
        return self.kind if duration_ms <= PROMPT_MS else max(self.kind, kind_of(duration_ms))


class ClaimBatch(Struct, frozen=True):
    """Up to `limit` rows of a destination to claim from a lane, for calls of this kind."""

    lane: Lane
    key: int
    limit: int
    kind: CallKind


class Allocation(Struct):
    """Batches to claim, destinations without a free slot of their kind, and whether a bulkhead or the claim is full."""

    batches: list[ClaimBatch] = field(default_factory=list[ClaimBatch])
    deferred: list[int] = field(default_factory=list[int])
    full: bool = False


class LastCall(Struct, frozen=True):
    """The outcome of a destination's last call."""

    kind: CallKind
    delivered: bool


UNKNOWN = LastCall(CallKind.PROBE, delivered=False)


def kind_of(duration_ms: int) -> CallKind:
    """The kind of a destination whose call took this long, whatever it answered."""
    return CallKind.PROMPT if duration_ms <= PROMPT_MS else CallKind.SLOW if duration_ms <= SLOW_MS else CallKind.DEAD


class DestinationHealth:
    """The last call to each destination, in the memory of this worker."""

    def __init__(self) -> None:
        self._observations: OrderedDict[int, LastCall] = OrderedDict()

    def observe(self, key: int, duration_ms: int, *, delivered: bool) -> None:
        """Record a call that ended, or that has been under way for this long."""
        self._observations[key] = LastCall(kind_of(duration_ms), delivered)
        self._observations.move_to_end(key)
        if len(self._observations) > REMEMBERED_MAX:
            self._observations.popitem(last=False)

    def kind(self, key: int, lane: Lane) -> CallKind:
        """The kind of the next call. A retry is prompt only if the last call delivered."""
        last = self._observations.get(key, UNKNOWN)
        is_failing = last.kind is CallKind.PROMPT and not last.delivered
        return CallKind.PROBE if is_failing and lane is Lane.RETRY else last.kind

    def any_prompt(self, lane: Lane, keys: Iterable[int]) -> bool:
        """Whether one of these destinations is prompt in this lane."""
        return any(self.kind(key, lane) is CallKind.PROMPT for key in keys)


class Slots:
    """The slots that the calls under way leave free."""

    def __init__(self, calls: Iterable[Call], health: DestinationHealth, now_ms: int) -> None:
        self._health = health
        self._used: defaultdict[CallKind, int] = defaultdict(int)
        self._used_by_merchant: defaultdict[tuple[CallKind, int], int] = defaultdict(int)
        self._used_by_destination: defaultdict[int, int] = defaultdict(int)
        current = [(call.kind_at(now_ms), call.kind, call.key) for call in calls]
        for (kind, _, key), count in Counter(current).items():
            self._occupy(kind, key, count)
        self._is_crowded = sum(kind is not started_as for kind, started_as, _ in current) >= LINGERING_MAX

    def any_free(self, lane: Lane) -> bool:
        """Whether any call of this lane could start."""
        kinds = (CallKind.PROMPT, CallKind.PROBE) if lane is Lane.FIRST else tuple(CallKind)
        return any(self._used[kind] < BULKHEADS[kind].calls for kind in kinds)

    def allocate(self, lane: Lane, keys: Sequence[int]) -> Allocation:
        """Occupy free slots for these destinations, in their order."""
        allocation, left = Allocation(), CLAIM_MAX
        for key in keys:
            kind = self._health.kind(key, lane)
            free = min(self._free(kind, key), left)
            if free > 0:
                self._occupy(kind, key, free)
                left -= free
                allocation.batches.append(ClaimBatch(lane, key, free, kind))
            elif kind is not CallKind.PROMPT:
                allocation.deferred.append(key)
            allocation.full = allocation.full or left == 0 or self._used[kind] >= BULKHEADS[kind].calls
            if left == 0:
                break
        return allocation

    def _free(self, kind: CallKind, key: int) -> int:
        bulkhead = BULKHEADS[kind]
        if kind is CallKind.PROBE and self._is_crowded:
            return 0
        return min(
            bulkhead.calls - self._used[kind],
            bulkhead.per_merchant - self._used_by_merchant[kind, key >> MERCHANT_BITS],
            bulkhead.per_destination - self._used_by_destination[key],
        )

    def _occupy(self, kind: CallKind, key: int, count: int) -> None:
        self._used[kind] += count
        self._used_by_merchant[kind, key >> MERCHANT_BITS] += count
        self._used_by_destination[key] += count
