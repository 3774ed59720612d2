"""The retry schedule as a pure function: the wait before the next attempt, and what the last one used up."""

import random
from datetime import timedelta
from typing import Literal

from msgspec import Struct

from tollhouse.kernel.ids import Mode

Trigger = Literal["automatic", "manual", "test"]
WORKER_LOST = "worker_lost"
FREE_LOSSES = 2
"""Lost workers of an event that use up no attempt. Later ones do, so that an event cannot keep killing workers."""
JITTER = 0.2


class NextAttempt(Struct, frozen=True):
    """`delay` is the wait before the next attempt; None ends the schedule. `tries` and `lost` are to be added."""

    delay: timedelta | None
    tries: int
    lost: int
    keeps_redelivery: bool = False


def next_attempt(
    *,
    mode: Mode,
    trigger: Trigger,
    error: str | None,
    tries: int,
    lost: int,
    schedule: tuple[float, ...],
    retry_after_s: float | None = None,
) -> NextAttempt:
    """What follows an attempt. `tries` and `lost` are the counts before it.

    A redelivery is never retried and leaves the schedule alone. Test mode has one attempt, live mode one and the schedule.
    `retry_after_s` is honoured between one and two times the delay.
    """
    was_lost = int(error == WORKER_LOST)
    if was_lost and lost < FREE_LOSSES:
        return NextAttempt(timedelta(0), 0, 1, keeps_redelivery=True)
    if trigger == "manual":
        return NextAttempt(None, 0, was_lost)
    if error is None or trigger == "test" or mode == "test" or tries >= len(schedule):
        return NextAttempt(None, 1, was_lost)
    delay_s = schedule[tries]
    wait_s = delay_s * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreading, not secrecy
    if retry_after_s is not None:
        wait_s = max(wait_s, min(retry_after_s, 2 * delay_s))
    return NextAttempt(timedelta(seconds=wait_s), 1, was_lost)
