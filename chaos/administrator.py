"""An administrator follows docs/deployment.md: own PostgreSQL, two roles, three proxies, an upgrade from 0.3.0, restarts.

Commands, files and their order are those of the page: SQL and settings are read from it and from `deploy`. No request fails.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from chaos.administrator_load import Load
from chaos.figures import Figure, at_least, at_most, fact, percentile
from chaos.own_database import OwnDatabase
from chaos.programs import wait_until_ready
from chaos.proxies import all_proxies
from chaos.units import Machine, port_with_metrics

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "deployment.md"
SYSTEMD = ROOT / "deploy" / "systemd"
OLD_VERSION = "0.3.0"
ROUNDS, QUICK_ROUNDS = 3, 1
SETTLE_S = 5.0
PROXY_FORGETS_S = 15.0
SERVES_METRICS_WITHIN_S = 60.0
PASSWORDS = {"OWNER-PASSWORD": "owner-password", "APPLICATION-PASSWORD": "application-password"}
OWNER, APPLICATION = ("tollhouse", "owner-password"), ("tollhouse_application", "application-password")
WEB, WORKER, MIGRATE = "tollhouse-web@", "tollhouse-worker", "tollhouse-migrate"


def sql_of_the_guide() -> list[str]:
    """The statements that create the roles and the database."""
    [block] = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    for name, password in PASSWORDS.items():
        block = block.replace(name, password)
    return [statement for statement in block.split(";\n") if statement.strip()]


def install_old(folder: Path) -> Path:
    """The release that is upgraded, from the history of this checkout, with the packages of its own lock files."""
    words = ["git", "-C", str(ROOT), "log", "--format=%H", "-S", f'version = "{OLD_VERSION}"', "--", "pyproject.toml"]
    commit = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[-1]
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "x"], input=archive, cwd=folder, check=True)
    subprocess.run([folder / "scripts" / "install", "run"], cwd=folder, check=True, stdout=sys.stderr)
    return folder


class Administrator:
    """A machine with both releases, the database and the proxies."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.database = OwnDatabase(folder)
        stack.callback(self.database.stop)
        self.machine = Machine(folder)
        stack.callback(self.machine.stop_all)
        self.proxies = all_proxies(folder)
        self.old_webs = [port_with_metrics() for _ in range(2)]
        self.webs = [port_with_metrics() for _ in range(2)]
        self.backups = folder / "backups"
        self.backups.mkdir()
        self.stops_s: list[float] = []

    async def prepare(self) -> None:
        """Roles, key ring, the files of settings."""
        await self.database.start()
        await self.database.run(*sql_of_the_guide())
        ring = (await self.machine.command("keys", "new")).splitlines()[-1]
        shipped = (SYSTEMD / "tollhouse.env").read_text()
        settings = re.sub(r"(?m)^# (DATABASE_URL|TOLLHOUSE_SECRET_KEYS|TOLLHOUSE_METRICS_ADDRESS)=", r"\1=", shipped)
        values = {
            "TOLLHOUSE_BASE_URL": f"http://127.0.0.1:{self.proxies[0].port}",
            "TOLLHOUSE_DATA_DIR": str(self.machine.folder / "state"),
            "TOLLHOUSE_METRICS_ADDRESS": f"127.0.0.1:{port_with_metrics()}",
            "DATABASE_URL": self.database.url(*APPLICATION, "tollhouse"),
            "TOLLHOUSE_SECRET_KEYS": ring,
        }
        self.machine.write("tollhouse.env", settings, values | {"TOLLHOUSE_RATE_LIMITS": "off"})
        owner = {"TOLLHOUSE_MIGRATION_DATABASE_URL": self.database.url(*OWNER, "tollhouse")}
        self.machine.write("owner.env", (SYSTEMD / "owner.env").read_text(), owner)

    async def begin_with_old(self) -> None:
        """The old release behind the proxies, which ask for /healthz."""
        await self.machine.command("migrate", owner=True)
        for port in self.old_webs:
            self.machine.start_words(f"old {port}", "web", "--port", str(port))
            await wait_until_ready(f"http://127.0.0.1:{port}")
        self.machine.start_words("old worker", "worker")
        for proxy in self.proxies:
            await proxy.start(self.old_webs, "/healthz")

    async def upgrade_from_old(self) -> None:
        """Both releases run beside each other for a while, in the steps that *From 0.2.0 or older* has."""
        await self.machine.command("backup", str(self.backups / "old.tar"), owner=True)
        self.machine.link(ROOT)
        await self.machine.run_unit(MIGRATE)
        await asyncio.sleep(SETTLE_S)  # the old release answers on the new schema
        for port in self.webs:
            self.machine.start_unit(f"{WEB}{port}")
            await wait_until_ready(f"http://127.0.0.1:{port}")
        for proxy in self.proxies:
            await proxy.reload(self.webs, "/readyz")
        await asyncio.sleep(PROXY_FORGETS_S)
        for name in [*(f"old {port}" for port in self.old_webs), "old worker"]:
            await self.machine.stop(name)
        self.machine.start_unit(WORKER)

    async def restart_in_turn(self) -> None:
        """As under *Upgrade without a failed request*, between versions whose processes drain."""
        await self.machine.run_unit(MIGRATE)
        await self.machine.stop(WORKER)
        self.machine.start_unit(WORKER)
        for port in self.webs:
            began = time.perf_counter()
            await self.machine.stop(f"{WEB}{port}")
            self.stops_s.append(time.perf_counter() - began)
            self.machine.start_unit(f"{WEB}{port}")
            await wait_until_ready(f"http://127.0.0.1:{port}")
            await asyncio.sleep(SETTLE_S)

    async def metrics(self) -> int:
        """How many of the three processes serve metrics of their own."""
        worker = self.machine.settings()["TOLLHOUSE_METRICS_ADDRESS"]
        found = 0
        async with aiohttp.ClientSession() as http:
            for address in (worker, *(f"127.0.0.1:1{port}" for port in self.webs)):
                text = await _scrape(http, f"http://{address}/metrics")
                found += "tollhouse_process_memory_bytes" in text
        return found

    async def restore(self) -> str:
        """Verify the first backup, and restore the last one into a new database: what both commands say."""
        words = ("backup", "verify", str(self.backups / "old.tar"))
        drill = await self.machine.command(*words, owner=True, may_fail=True)
        statement = sql_of_the_guide()[-1].replace("DATABASE tollhouse", "DATABASE restored")
        await self.database.run(statement)
        restored = {
            "DATABASE_URL": self.database.url(*APPLICATION, "restored"),
            "TOLLHOUSE_MIGRATION_DATABASE_URL": self.database.url(*OWNER, "restored"),
        }
        words = ("restore", str(self.backups / "new.tar"))
        return drill + await self.machine.command(*words, owner=True, may_fail=True, **restored)


async def _scrape(http: aiohttp.ClientSession, url: str) -> str:
    """The metrics at this address, once its process serves them. Raises `TimeoutError`."""
    async with asyncio.timeout(SERVES_METRICS_WITHIN_S):
        while True:
            try:
                async with http.get(url) as response:
                    return await response.text()
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.1)


async def run(*, quick: bool) -> list[Figure]:
    """The whole way, with three restarts of everything or one."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-administrator-")))
        folder.chmod(0o711)
        administrator = Administrator(folder, stack)
        old = await asyncio.to_thread(install_old, folder / f"tollhouse-{OLD_VERSION}")
        administrator.machine.link(old)
        await administrator.prepare()
        for proxy in administrator.proxies:
            stack.callback(proxy.stop)
        await administrator.begin_with_old()
        host = f"127.0.0.1:{administrator.proxies[0].port}"
        loads = [await stack.enter_async_context(Load(proxy.name, proxy.port, host)) for proxy in administrator.proxies]
        sending = [asyncio.create_task(load.run()) for load in loads]
        await asyncio.sleep(SETTLE_S)
        try:
            await administrator.upgrade_from_old()
        except BaseException:
            for task in sending:
                task.cancel()
            raise
        served = await administrator.metrics()
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            await administrator.restart_in_turn()
        await administrator.machine.command("backup", str(administrator.backups / "new.tar"), owner=True)
        for load in loads:
            load.stop()
        await asyncio.gather(*sending)
        kept = [await load.count_links() for load in loads]
        return list(_figures(administrator, loads, kept, served, await administrator.restore()))


def _figures(
    administrator: Administrator, loads: Sequence[Load], kept: Sequence[int], served: int, said: str
) -> Iterator[Figure]:
    for load, links in zip(loads, kept, strict=True):
        for problem in sorted(set(load.problems)):
            print(f"{load.name}: {problem}", file=sys.stderr)
        yield fact(f"requests behind {load.name}", load.requests)
        yield fact(f"requests repeated behind {load.name}, which closed the connection", load.repeated)
        yield at_most(f"failed requests behind {load.name}", len(load.problems), 0)
        yield at_most(f"payment links behind {load.name} that are missing or too many", abs(links - load.links), 0)
        yield fact(f"99 of 100 requests behind {load.name} within", percentile(load.latencies_ms, 0.99), unit="ms")
    print(said, file=sys.stderr)
    yield fact("restarts of a web process", len(administrator.stops_s))
    yield fact("longest stop of a web process", max(administrator.stops_s), unit="s")
    yield at_least("processes with metrics of their own", served, 3)
    yield at_least(
        "times that a restore says that all invariants hold", " ".join(said.split()).count("All invariants hold"), 2
    )
