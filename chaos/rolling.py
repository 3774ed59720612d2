"""The service is upgraded behind HAProxy under load: a migration, then each process in turn. No request fails."""

import asyncio
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import aiohttp

import tollhouse
from chaos.figures import Figure, at_least, at_most, fact, percentile
from chaos.programs import free_port, replace_in, start, wait_until_ready
from chaos.service import HealthyClient, Merchant, cookies
from chaos.testbed import Testbed
from tollhouse.platform.database.migrations import ours

PROXY_FILE = Path(__file__).parents[1] / "deploy" / "proxies" / "haproxy.cfg"
ROUNDS, QUICK_ROUNDS = 5, 1
LINKS_PER_S, READS_PER_S = 20.0, 40.0
SETTLE_S = 3.0
DRAIN_S = 6
STOPS_WITHIN_S = 40.0
PATHS = ("/healthz", "/signin", "/.well-known/oauth-authorization-server")
MIGRATION = """-- A migration as an upgrade has them.
ALTER TABLE payment_links ADD COLUMN upgraded text NOT NULL DEFAULT 'no';
"""


class Programs:
    """The program of this checkout, and a later version of it with one more migration."""

    def __init__(self, folder: Path) -> None:
        package = Path(tollhouse.__file__).parent
        self.current = package.parent
        self.next = folder / "next"
        shutil.copytree(package, self.next / package.name, symlinks=True)
        number = ours()[-1].number + 1
        (self.next / package.name / "platform" / "migrations" / f"{number:04d}_upgraded.sql").write_text(MIGRATION)


class Web:
    """`tollhouse web` on a port of its own, of one program at a time."""

    def __init__(self, settings: dict[str, str], log: Path) -> None:
        self._settings = settings
        self._log = log
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.drained_s: list[float] = []

    async def restart(self, program: Path) -> None:
        """Stop it as systemd does, and start this program at the same port."""
        if self.process is not None:
            began = time.perf_counter()
            self.process.terminate()
            await asyncio.to_thread(self.process.wait, STOPS_WITHIN_S)
            self.drained_s.append(time.perf_counter() - began)
        self.process = start(self._settings, self._log, "web", "--port", str(self.port), program=program)
        await wait_until_ready(f"http://127.0.0.1:{self.port}")

    def stop(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextmanager
def proxy(folder: Path, port: int, webs: list[Web]) -> Iterator[None]:
    """HAProxy with the file of `deploy`, without TLS, before these servers."""
    file = folder / "haproxy.cfg"
    shutil.copy(PROXY_FILE, file)
    changes = {
        "    bind :80\n": f"    bind 127.0.0.1:{port}\n",
        "    bind :443 ssl crt /etc/haproxy/certs/pay.example.com.pem alpn h2,http/1.1\n": "",
        "    http-request redirect scheme https code 308 unless { ssl_fc }\n": "",
        "X-Forwarded-Proto https\n": "X-Forwarded-Proto http\n",
        "127.0.0.1:8001": f"127.0.0.1:{webs[0].port}",
        "127.0.0.1:8002": f"127.0.0.1:{webs[1].port}",
    }
    replace_in(file, changes)
    process = subprocess.Popen([shutil.which("haproxy", path="/usr/sbin:/usr/bin") or "haproxy", "-db", "-f", str(file)])
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOPS_WITHIN_S)


class Load:
    """Payment links and reads at steady rates, until stopped."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.merchant, self.reader = Merchant(url, http), HealthyClient(url, PATHS)
        self.latencies_ms: list[float] = []
        self.links = 0
        self._stopping = False

    async def run(self) -> None:
        """Send requests until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            began = time.perf_counter()
            while not self._stopping:
                self.links += 1
                group.create_task(self._open(self.links))
                await asyncio.sleep(max(0.0, began + self.links / LINKS_PER_S - time.perf_counter()))

    def stop(self) -> None:
        """Send no more."""
        self._stopping = True

    async def _read(self) -> None:
        while not self._stopping:
            await self.reader.send_requests(READS_PER_S, 1.0)

    async def _open(self, number: int) -> None:
        began = time.perf_counter()
        await self.merchant.open_link(number)
        self.latencies_ms.append((time.perf_counter() - began) * 1000)


async def upgrade(program: Path, settings: dict[str, str], log: Path, webs: list[Web]) -> None:
    """Migrate, then restart each web server in turn."""
    migrating = start(settings, log, "migrate", program=program)
    await asyncio.to_thread(migrating.wait)
    for web in webs:
        await web.restart(program)
        await asyncio.sleep(SETTLE_S)


async def run_rounds(testbed: Testbed, programs: Programs, rounds: int) -> list[Figure]:
    """Upgrade once, then restart everything again and again, under load."""
    port = free_port()
    log = testbed.folder / "web.log"
    settings = testbed.settings | {
        "TOLLHOUSE_BASE_URL": f"http://127.0.0.1:{port}",
        "TOLLHOUSE_DRAIN_S": str(DRAIN_S),
        "TOLLHOUSE_RATE_LIMITS": "off",
    }
    webs = [Web(settings, log) for _ in range(2)]
    with ExitStack() as last:
        for web in webs:
            last.callback(web.stop)
            await web.restart(programs.current)
        last.enter_context(proxy(testbed.folder, port, webs))
        await asyncio.sleep(SETTLE_S)
        async with cookies() as http:
            load = Load(f"http://127.0.0.1:{port}", http)
            await load.merchant.begin()
            sending = asyncio.create_task(load.run())
            await asyncio.sleep(SETTLE_S)
            for _ in range(rounds):
                await upgrade(programs.next, settings, log, webs)
            load.stop()
            await sending
            kept = await load.merchant.links()
        older = start(settings, log, "web", "--port", str(free_port()), program=programs.current)
        refused = await asyncio.to_thread(older.wait, STOPS_WITHIN_S)
    for problem in sorted(set(load.reader.problems)):
        print(problem, file=sys.stderr)
    requests = load.links + len(load.reader.latencies_ms)
    return [
        fact("restarts of a web process", sum(len(web.drained_s) for web in webs)),
        fact("requests", requests),
        at_most("failed requests", load.merchant.failed + len(load.reader.problems), 0),
        at_most("payment links that are missing or too many", abs(kept - load.links), 0),
        fact("longest stop of a process", max(max(web.drained_s) for web in webs), unit="s"),
        fact("99 of 100 payment links within", percentile(load.latencies_ms, 0.99), unit="ms"),
        fact("longest", max(load.latencies_ms), unit="ms"),
        at_least("exit status of the older program on the newer schema", refused, 1),
    ]


async def run(*, quick: bool) -> list[Figure]:
    """An upgrade and four restarts of everything, or the upgrade alone."""
    async with Testbed() as testbed:
        programs = Programs(testbed.folder)
        return await run_rounds(testbed, programs, QUICK_ROUNDS if quick else ROUNDS)
