"""DeadlineSemaphore: first come, first served, whoever gives up."""

import asyncio

import pytest

from tollhouse.platform.semaphore import DeadlineSemaphore

LONG_S = 600


async def ready() -> None:
    """Let everybody run who can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_slots_are_given_in_order() -> None:
    slots, got = DeadlineSemaphore(2), list[int]()

    async def work(number: int) -> None:
        await slots.acquire(LONG_S)
        got.append(number)

    tasks = [asyncio.create_task(work(number)) for number in range(5)]
    await ready()
    assert (got, slots.waiting, slots.try_acquire()) == ([0, 1], 3, False)
    slots.release()
    slots.release()
    await ready()
    assert (got, slots.waiting) == ([0, 1, 2, 3], 1)
    slots.release()
    await asyncio.gather(*tasks)
    assert got == [0, 1, 2, 3, 4]
    slots.release()
    slots.release()
    assert [slots.try_acquire() for _ in range(3)] == [True, True, False]


async def test_who_waits_too_long_gets_an_error_and_no_slot() -> None:
    slots = DeadlineSemaphore(1)
    assert slots.try_acquire()
    for _ in range(2):  # a second timer replaces the first
        with pytest.raises(TimeoutError):
            await slots.acquire(0)
    assert slots.waiting == 0
    slots.release()
    assert [slots.try_acquire() for _ in range(2)] == [True, False]


async def test_a_slot_that_was_given_to_somebody_who_left_is_not_lost() -> None:
    slots = DeadlineSemaphore(1)
    assert slots.try_acquire()
    left, last = asyncio.create_task(slots.acquire(LONG_S)), asyncio.create_task(slots.acquire(LONG_S))
    await ready()
    slots.release()  # to the first one,
    left.cancel()  # who leaves before they have noticed
    await ready()
    assert left.cancelled()
    assert last.done()
    assert not slots.try_acquire()
    slots.release()
    assert slots.try_acquire()


async def test_nobody_is_given_a_slot_after_they_left() -> None:
    slots = DeadlineSemaphore(1)
    assert slots.try_acquire()
    left = asyncio.create_task(slots.acquire(LONG_S))
    await ready()
    left.cancel()
    await ready()
    assert slots.waiting == 0
    slots.release()
    assert slots.try_acquire()
