"""A commit wakes the workers of its host; where it cannot, nothing fails, and polling finds the event."""

import asyncio
import os
import socket
import tempfile
from collections.abc import Awaitable, Iterable, Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, eventually, open_harness
from tollhouse.http.services import Services
from tollhouse.platform.database import wakeups
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.database.wakeups import FOLDER, Wakeups
from tollhouse.webhooks.delivery import worker as delivery_worker
from tollhouse.webhooks.delivery.bulkheads import BULKHEADS, CallKind

URL = "http://127.0.0.1:9/hook"
BACKLOG, AT_ONCE = 2_000, 500
PER_DESTINATION = BULKHEADS[CallKind.PROMPT].per_destination


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder with a short path: that of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
async def shop(services: Services, data_dir: Path) -> Harness:
    """A merchant of an instance with a data folder."""
    settings = msgspec.structs.replace(services.settings, data_dir=data_dir)
    return await open_harness(msgspec.structs.replace(services, settings=settings), "test")


class Bell:
    """How often it was rung."""

    def __init__(self) -> None:
        self.rung = 0

    def ring(self) -> None:
        self.rung += 1

    async def has_rung(self) -> bool:
        return self.rung > 0


async def test_the_commit_of_an_event_wakes(shop: Harness, data_dir: Path) -> None:
    bell = Bell()
    with wakeups.listen(data_dir, bell.ring):
        await shop.record(URL)
        await eventually(bell.has_rung)


async def test_what_is_not_to_be_sent_or_was_undone_wakes_nobody(shop: Harness, data_dir: Path) -> None:
    bell = Bell()

    async def fails(tx: Tx) -> None:
        await shop.record_in(tx, URL)
        raise LookupError

    settings = msgspec.structs.replace(shop.services.settings, deprecated_webhooks=False)
    without_url = Harness(msgspec.structs.replace(shop.services, settings=settings), shop.env)
    with wakeups.listen(data_dir, bell.ring):
        with pytest.raises(LookupError):
            await shop.services.db.transact(fails)
        await without_url.record(None)
        await shop.services.db.execute("SELECT 1")
        await asyncio.sleep(0)
        assert not bell.rung
        await shop.record(URL)  # the connection that failed is used again
        await eventually(bell.has_rung)


async def test_a_worker_is_woken_long_before_it_polls(
    shop: Harness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("POLL_EVERY_S", "POLL_EVERY_IDLE_S"):
        monkeypatch.setattr(delivery_worker, name, 3_600)
    await shop.secret()
    async with shop.working() as worker:
        await eventually(lambda: asyncio.sleep(0, (shop.services.settings.data_dir / FOLDER).exists()))
        for _ in range(3):
            await shop.until(await shop.record(receiver.url), "delivered")
        worker.stop()


@pytest.mark.long
async def test_what_waits_for_another_destination_does_not_delay_who_is_woken_for(
    shop: Harness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker goes on with what it knows to be due, and looks for others because it is woken."""
    monkeypatch.setattr(delivery_worker, "WALK_EVERY_S", 3_600)
    other = await open_harness(shop.services, "test")
    for one in (shop, other):
        await one.secret()
    waiting: list[UUID] = []
    for _ in range(0, BACKLOG, AT_ONCE):
        waiting = await shop.services.db.transact(
            lambda tx: gather_in_turn(shop.record_in(tx, receiver.url) for _ in range(AT_ONCE))
        )
    async with shop.working(), Receiver() as prompt:
        await eventually(lambda: asyncio.sleep(0, len(receiver.received) > 2 * PER_DESTINATION))
        wakeups.wakeups.cache_clear()  # it looked for workers when there was none
        await other.until(await other.record(prompt.url), "delivered")
        assert len(receiver.received) < BACKLOG
        assert (await shop.event(waiting[-1]))["status"] == "pending"  # the last one of the backlog


async def gather_in_turn(recordings: Iterable[Awaitable[UUID]]) -> list[UUID]:
    return [await recording for recording in recordings]


async def test_every_worker_is_woken_and_the_socket_of_a_killed_one_removed(data_dir: Path) -> None:
    bell = Bell()
    dead = data_dir / FOLDER / "1.sock"
    dead.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as killed:
        killed.bind(str(dead))
    with wakeups.listen(data_dir, bell.ring):
        Wakeups(data_dir).send()
        await eventually(bell.has_rung)
        assert [path.name for path in (data_dir / FOLDER).iterdir()] == [f"{os.getpid()}.sock"]
    assert not list((data_dir / FOLDER).iterdir())


async def test_a_socket_left_by_the_same_process_number_is_replaced(data_dir: Path) -> None:
    bell = Bell()
    (data_dir / FOLDER).mkdir()
    (data_dir / FOLDER / f"{os.getpid()}.sock").touch()
    with wakeups.listen(data_dir, bell.ring):
        Wakeups(data_dir).send()
        await eventually(bell.has_rung)


async def test_a_worker_that_reads_nothing_delays_no_commit(data_dir: Path) -> None:
    (data_dir / FOLDER).mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stuck:
        stuck.bind(str(data_dir / FOLDER / "1.sock"))
        sending = Wakeups(data_dir)
        for _ in range(5_000):
            sending.send()
        assert (data_dir / FOLDER / "1.sock").exists()


@pytest.mark.parametrize("folder", ["missing", "a-file", "d" * 120])
async def test_without_a_usable_folder_nothing_fails(data_dir: Path, folder: str) -> None:
    bell = Bell()
    (data_dir / "a-file").touch()
    if len(folder) > 100:
        (data_dir / folder).mkdir()
    with wakeups.listen(data_dir / folder, bell.ring):
        Wakeups(data_dir / folder).send()
    assert not bell.rung
