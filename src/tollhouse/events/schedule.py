"""What follows an attempt, as a pure rule: when the next one is, if any, and what the failed one used up."""

import random
from datetime import timedelta
from typing import Literal

from msgspec import Struct

from tollhouse.kernel.ids import Mode

Trigger = Literal["automatic", "manual", "test"]
WORKER_LOST = "worker_lost"
FREE_LOSSES = 2
"""Lost workers use up nothing, until the third one of an event: an event must not kill workers for ever."""
JITTER = 0.2
AT_ONCE = timedelta(0)


class Next(Struct, frozen=True):
    """`after` is the wait before the next attempt of the schedule, null when it is over. `again` keeps a redelivery."""

    after: timedelta | None
    tries: int
    lost: int
    again: bool = False


def following(
    *,
    mode: Mode,
    trigger: Trigger,
    error: str | None,
    tries: int,
    lost: int,
    schedule: tuple[float, ...],
    retry_after_s: float | None = None,
) -> Next:
    """The rule. `tries` and `lost` are what was counted before this attempt, and in the answer what to add.

    A redelivery is never retried and leaves the schedule alone; test mode has one attempt, live mode one and the
    schedule; `retry_after_s` is honoured between one and two times the delay.
    """
    was_lost = int(error == WORKER_LOST)
    if was_lost and lost < FREE_LOSSES:
        return Next(AT_ONCE, 0, 1, again=True)
    if trigger == "manual":
        return Next(None, 0, was_lost)
    if error is None or trigger == "test" or mode == "test" or tries >= len(schedule):
        return Next(None, 1, was_lost)
    delay = schedule[tries]
    wait = delay * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreading, not secrecy
    if retry_after_s is not None:
        wait = max(wait, min(retry_after_s, 2 * delay))
    return Next(timedelta(seconds=wait), 1, was_lost)
