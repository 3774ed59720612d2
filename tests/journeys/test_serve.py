"""`tollhouse serve` from nothing: starts, restarts what dies, survives being killed, and leaves nothing behind."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.cast import sign_up
from tests.journeys.test_get_paid import COFFEE, activate_secret, pay
from tests.processes import Serving, alive
from tests.receiver import Receiver
from tests.running import Service, free_port, settings_for
from tollhouse.instance.database import embedded

pytestmark = pytest.mark.xdist_group("serve")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """An empty data folder, below a folder that only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-serve-") as folder:
        yield Path(folder)
        shutil.rmtree((Path(folder) / "postgres").resolve(), ignore_errors=True)  # where it is but a link


def talking_to(serving: Serving) -> Service:
    """The cast's view of a service in other processes."""
    dsn = embedded.locate(serving.data_dir).dsn
    return Service(settings_for(dsn, TOLLHOUSE_BASE_URL=serving.url))


async def test_killed_between_payment_and_delivery(data_dir: Path) -> None:
    serving = await Serving(data_dir).start()
    hook = f"http://127.0.0.1:{free_port()}/hook"
    try:
        async with sign_up(talking_to(serving), "alice", "Alice's Coffee") as alice:
            await activate_secret(alice)
            link = (await alice.post("/payment-links", COFFEE | {"webhook_url": hook})).ok(201).body
            os.kill(serving.part("worker"), signal.SIGSTOP)  # so that nothing is delivered before the blow
            await pay(alice, link)
            serving.kill()
            port = int(hook.rpartition(":")[2].partition("/")[0])
            async with Receiver(port) as receiver:
                await serving.start()
                await receiver.wait("payment.succeeded")
                await receiver.wait("balance.updated")
                assert len(receiver.of_type("payment.succeeded")) == 1
            link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
            assert link["status"] == "completed"
            assert check(serving) == (0, "")
    finally:
        assert serving.stop() == []


@pytest.mark.long
async def test_parts_that_die_are_started_again(data_dir: Path) -> None:
    serving = await Serving(data_dir).start()
    try:
        for part in ("web", "worker"):
            before = serving.part(part)
            os.kill(before, signal.SIGKILL)
            await _until(lambda part=part, before=before: _another(serving, part, before))
        database = embedded.locate(data_dir).pid
        assert database is not None
        os.kill(database, signal.SIGKILL)
        await _until(lambda: embedded.locate(data_dir).responses and embedded.locate(data_dir).pid != database)
        async with aiohttp.ClientSession() as http:
            await _until_ready(http, serving.url)
    finally:
        assert serving.stop() == []


@pytest.mark.long
async def test_a_killed_supervisor_takes_its_parts_with_it_and_its_database_is_adopted(data_dir: Path) -> None:
    serving = await Serving(data_dir).start()
    assert serving.process is not None
    parts = [serving.part("web"), serving.part("worker")]
    database = embedded.locate(data_dir).pid
    os.kill(serving.process.pid, signal.SIGKILL)
    serving.process.wait()
    await _until(lambda: not any(alive(pid) for pid in parts))
    assert embedded.locate(data_dir).responses
    await serving.start()
    assert embedded.locate(data_dir).pid == database
    assert serving.stop() == []
    assert not embedded.locate(data_dir).responses


def check(serving: Serving) -> tuple[int, str]:
    """`tollhouse check` beside the running service: its exit status and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tollhouse", "check"],
        env=os.environ | {"TOLLHOUSE_DATA_DIR": str(serving.data_dir)},
        cwd=serving.data_dir,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


async def _until(holds: object, within_s: float = 60) -> None:
    assert callable(holds)
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.05)


async def _until_ready(http: aiohttp.ClientSession, url: str) -> None:
    async with asyncio.timeout(60):
        while True:
            async with http.get(f"{url}/readyz") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(0.05)


def _another(serving: Serving, part: str, before: int) -> bool:
    try:
        return serving.part(part) != before
    except StopIteration:
        return False
