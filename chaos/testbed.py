"""The test bed: a migrated database, services that record events, and workers as processes that can be killed."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import asyncpg

from chaos.receivers import hosts
from tollhouse.instance import main
from tollhouse.instance.checks.run import Scope, check
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.settings import config
from tollhouse.webhooks.events import secrets

KEYS = "chaos:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU"
SENDERS = hosts(200, 10_000)
"""Each worker process sends from its own address, so that receivers can tell workers apart."""
PRODUCER_CONNECTIONS = 20
STOPS_WITHIN_S = 20
STARTS_AGAIN_WITHIN_S = 30
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

INSERT_MERCHANT = "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, 'Chaos', $2)"
COUNT_EVENTS = "SELECT count(*) FROM webhook_events"
COUNT_WAITING = "SELECT count(*) FROM webhook_events WHERE status IN ('pending', 'retrying')"


class Worker:
    """A `tollhouse worker` process."""

    def __init__(self, process: "subprocess.Popen[bytes]", sender: str) -> None:
        self.process = process
        self.sender = sender

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    def memory_bytes(self) -> int:
        """The resident memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE_BYTES

    def kill(self) -> None:
        """Send SIGKILL and wait until the process has ended."""
        self.process.kill()
        self.process.wait()


class Testbed:
    """`async with Bed() as bed`. `settings` are environment variables of all parts."""

    def __init__(self, **settings: str) -> None:
        self.settings = {"TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "TOLLHOUSE_SECRET_KEYS": KEYS, **settings}
        self.workers: list[Worker] = []
        self._senders = iter(SENDERS)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as last:
            self.folder = Path(last.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-chaos-")))
            self.folder.chmod(0o711)
            last.callback(self._clear)
            self.database = await asyncio.to_thread(embedded.start, self.folder / "data")
            last.callback(lambda: self.database.stop())  # noqa: PLW0108 - the one that runs by then
            self.settings |= {
                "DATABASE_URL": self.database.cluster.dsn,
                "TOLLHOUSE_DATA_DIR": str(self.folder / "data"),  # where a commit wakes the workers
            }
            await migrate(self.database.cluster.dsn)
            self.services = main.create_services(config.load(self.settings), connections=PRODUCER_CONNECTIONS)
            last.push_async_callback(self.services.db.close)
            last.callback(self._stop_workers)
            self._last = last.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._last.aclose()

    async def merchant(self, mode: Mode = "live") -> MerchantEnv:
        """Insert a merchant with an active signing secret. Failed events are retried in live mode only."""
        env = MerchantEnv(MerchantId(new_id()), mode)

        async def action(tx: Tx) -> None:
            await tx.execute(INSERT_MERCHANT, env.merchant_id, clock.now())
            await secrets.lock(tx, env)
            await secrets.replace(tx, env, self.services.keys, clock.now())

        await self.services.db.transact(action)
        return env

    def start_worker(self, *, alone: bool = False) -> Worker:
        """Start another worker process. With `alone` the kernel picks its source address."""
        sender = "" if alone else next(self._senders)
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "NOTIFY"))}
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tollhouse", "worker"],
                env=outside | self.settings | {"TOLLHOUSE_WEBHOOK_SOURCE_IP": sender},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        worker = Worker(process, sender)
        self.workers.append(worker)
        return worker

    def kill_worker(self, worker: Worker) -> None:
        """Kill this worker."""
        self.workers.remove(worker)
        worker.kill()

    async def restart_database(self, how: signal.Signals) -> float:
        """Send the signal to the postmaster and start PostgreSQL again. Returns the seconds it was down."""
        began = time.perf_counter()
        os.kill(self.database.pid or 0, how)
        while self.database.alive:
            await asyncio.sleep(0.01)
        while True:
            try:
                self.database = await asyncio.to_thread(embedded.start, self.folder / "data")
            except embedded.EmbeddedError:  # shared memory of the killed server is still in use
                if time.perf_counter() - began > STARTS_AGAIN_WITHIN_S:
                    raise
                await asyncio.sleep(0.1)
            else:
                return time.perf_counter() - began

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """A connection without a statement timeout."""
        return await asyncpg.connect(self.database.cluster.dsn)

    async def count(self, statement: str, *args: object) -> int:
        """The number in the statement's only row."""
        row = await self.services.db.fetchrow(statement, *args)
        return row[0] if row else 0

    async def wait_until_delivered(self, within_s: float) -> int:
        """Wait until no event is pending. Returns how many still are."""
        until = time.perf_counter() + within_s
        while (waiting := await self.count(COUNT_WAITING)) and time.perf_counter() < until:
            await asyncio.sleep(0.25)
        return waiting

    async def broken(self) -> list[str]:
        """The broken invariants."""
        report = await check(self.services.settings.database_url or "", Scope(full=True))
        return [] if report is None else report.broken

    def _stop_workers(self) -> None:
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            try:
                worker.process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                worker.kill()

    def _clear(self) -> None:
        """Delete the database folder, which may be a link."""
        shutil.rmtree((self.folder / "data" / "postgres").resolve(), ignore_errors=True)
