"""The listening socket: its connections send at once, however the web process was started; a used port is told plainly."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.accepted import accepted_by
from tests.processes import Serving, alive
from tests.running import KEY, free_port, migrated_database
from tollhouse.instance.database import embedded

pytestmark = [
    pytest.mark.xdist_group("serve"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into other processes by /proc"),
]
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
async def served(server: embedded.Server, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Serving]:
    """`tollhouse serve`, on a database of its own."""
    folder = tmp_path_factory.mktemp("serve")
    one = Serving(folder, DATABASE_URL=await migrated_database(server.cluster.dsn), TOLLHOUSE_SECRET_KEYS=KEY)
    yield await one.start()
    assert one.stop() == []


@pytest.fixture(scope="module")
async def alone(server: embedded.Server, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Serving]:
    """`tollhouse web`, on a database of its own."""
    dsn, folder = await migrated_database(server.cluster.dsn), tmp_path_factory.mktemp("web")
    one = Serving(folder, "web", DATABASE_URL=dsn, TOLLHOUSE_SECRET_KEYS=KEY)
    yield await one.start()
    assert one.stop() == []


def request(port: int) -> tuple[socket.socket, bytes]:
    """A connection that was answered once, and is kept; and the answer."""
    one = socket.create_connection(("127.0.0.1", port), timeout=10)
    one.sendall(ALIVE)
    return one, one.recv(65_536)


@pytest.mark.long
async def test_an_answer_leaves_at_once_however_the_web_was_started(served: Serving, alone: Serving) -> None:
    for one in (served, alone):
        ours, answer = await asyncio.to_thread(request, one.port)
        with ours, accepted_by(one.part("web"), ours) as theirs:
            assert theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b'{"status":"ok"}')


@pytest.mark.long
@pytest.mark.parametrize("word", ["serve", "web"])
def test_a_used_port_is_reported_before_anything_is_started(tmp_path: Path, word: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "tollhouse", word, "--port", str(port)],
            env=os.environ | {"TOLLHOUSE_DATA_DIR": str(tmp_path)} | ({} if word == "serve" else database()),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"Port {port} on 127.0.0.1 is already in use" in said
    assert f"--port {port + 1}" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def database() -> dict[str, str]:
    """Settings of a database that nobody needs to reach."""
    return {"DATABASE_URL": f"postgresql://127.0.0.1:{free_port()}/none", "TOLLHOUSE_SECRET_KEYS": KEY}


@pytest.mark.long
async def test_a_part_that_cannot_be_started_is_started_when_that_is_possible(served: Serving) -> None:
    import resource  # noqa: PLC0415 - not to be had everywhere

    assert served.process is not None
    before, worker = resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE), served.part("worker")
    resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    os.kill(worker, 9)
    await until(lambda: served.said.count('"part_start_failed"') > 1)
    assert '"part":"worker"' in served.said
    resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, before)
    await until(lambda: has_another(served, worker))


def has_another(one: Serving, worker: int) -> bool:
    """Whether a worker runs that is not this one."""
    try:
        return one.part("worker") != worker and alive(one.part("worker"))
    except StopIteration:
        return False


async def until(holds: object) -> None:
    """Wait until it holds."""
    assert callable(holds)
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.long
async def test_a_process_that_stops_answers_until_its_proxy_has_noticed(server: embedded.Server, tmp_path: Path) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    one = Serving(tmp_path, "web", DATABASE_URL=dsn, TOLLHOUSE_SECRET_KEYS=KEY, TOLLHOUSE_DRAIN_S="300")
    await one.start()
    assert one.process is not None
    async with aiohttp.ClientSession() as http:
        one.process.terminate()
        while True:
            async with http.get(f"{one.url}/readyz") as answer:
                if answer.status == 503:
                    assert answer.headers["Connection"] == "close"
                    break
        async with http.get(f"{one.url}/healthz") as answer:
            assert (answer.status, answer.headers["Connection"]) == (200, "close")
    one.process.terminate()  # the second signal ends it at once
    await asyncio.to_thread(one.process.wait, 30)
