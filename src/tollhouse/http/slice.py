"""What a slice registers: operations, background jobs, invariants and webhook events.

Each slice describes itself once, as `SLICE` in its `slice.py`; `tollhouse.instance.slices` collects them.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.operations import Operation
from tollhouse.http.services import Services
from tollhouse.platform.database.invariants import Invariant

CONTINUOUS_S, HOURLY_S = 0.5, 3600
"""Intervals of jobs: of those that process due work and of those that clean up."""


class Job(Struct, frozen=True):
    """A function that the worker calls every `interval_s`. A failure is logged, and the next call is on time."""

    interval_s: float
    run: Callable[[Services], Awaitable[None]]


class Slice(Struct, frozen=True, kw_only=True):
    """All that one package adds to the service. Each operation names its own surface."""

    operations: tuple[Operation, ...] = ()
    jobs: tuple[Job, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    events: tuple[EventSpec, ...] = ()
