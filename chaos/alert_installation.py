"""What alerts watch in an experiment: web and worker with metrics, a bank, mail, a Bitcoin node, receivers, and traffic."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Self

import aiohttp
from tests.accounts.mail.postbox import Postbox
from tests.cast import sign_up
from tests.rails.bank import camt
from tests.rails.bank.steps import Bank, earned, withdrawn
from tests.rails.bitcoin.core import Core, serving
from tests.rails.bitcoin.wallet import ZPUB
from tests.running import Service

from chaos.producer import Destination, Producer
from chaos.programs import free_port, start, wait_until_ready
from chaos.receivers import Receivers, hosts
from chaos.service import HealthyClient, Merchant, cookies
from chaos.testbed import STOPS_WITHIN_S, Testbed
from tollhouse.instance.database import embedded
from tollhouse.platform.settings import config

LINKS_PER_S, READS_PER_S, EVENTS_PER_S = 1.0, 4.0, 1.0
RETRY_AFTER_S, SERVES_METRICS_WITHIN_S = 0.2, 60.0
RUNNING = "\ntollhouse_workers_running 1.0\n"
PAST_ALL_RULES = "SET session_replication_role = replica"
RAILS = """
[bitcoin]
kind = "bitcoin"
network = "main"
node_url_file = "{folder}/node"
xpub = "{xpub}"
poll_interval_s = 1
tip_age_max_s = 1000000000
"""
IMPATIENT = "0.1,0.1,0.1,3600,3600,3600,3600,3600"


class Installation:
    """`async with Installation() as installation`. Web and worker are processes of their own, each with metrics."""

    def __init__(self) -> None:
        self.web_port, self.web_metrics, self.worker_metrics = free_port(), free_port(), free_port()
        self._mail_port = free_port()
        self._stack = AsyncExitStack()
        self.failed_requests = 0

    @property
    def addresses(self) -> list[str]:
        """What Prometheus scrapes."""
        return [f"127.0.0.1:{self.web_metrics}", f"127.0.0.1:{self.worker_metrics}"]

    async def __aenter__(self) -> Self:
        async with self._stack as stack:
            self.testbed = Testbed(
                TOLLHOUSE_BASE_URL=f"http://127.0.0.1:{self.web_port}",
                TOLLHOUSE_RATE_LIMITS="off",
                TOLLHOUSE_SMTP_URL=f"smtp://127.0.0.1:{self._mail_port}",
                TOLLHOUSE_MAIL_FROM="The Toll <toll@house.example>",
                TOLLHOUSE_WEBHOOK_RETRY_SCHEDULE=IMPATIENT,
                TOLLHOUSE_METRICS_ADDRESS=f"127.0.0.1:{self.worker_metrics}",
                **camt.ACCOUNT,
            )
            await stack.enter_async_context(self.testbed)
            self.settings = self.testbed.settings
            self._add_rail()
            self.core = await self.start_node()
            stack.push_async_callback(self.stop_node)
            self.postbox = await stack.enter_async_context(Postbox(self._mail_port))
            self.receivers = await stack.enter_async_context(Receivers(hosts(10, 3)))
            stack.callback(self._kill_all)
            await self.start_web()
            self.start_worker()
            self.service = Service(config.load(self.settings), worker=False)
            self.merchant = await stack.enter_async_context(sign_up(self.service, "night", "Night Owls"))
            self.services = self.service.create_services(connections=4)
            stack.push_async_callback(self.services.close)
            self.producer = Producer(self.testbed)
            self.destination = Destination(await self.testbed.merchant(), self.receivers.urls[0])
            await self._do_business()
            await self._wait_for_metrics()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def start_web(self) -> None:
        """Start the web process."""
        words = ("web", "--port", str(self.web_port), "--metrics-port", str(self.web_metrics))
        self.web = start(self.settings, self.testbed.folder / "web.log", *words)
        await wait_until_ready(f"http://127.0.0.1:{self.web_port}")

    def start_worker(self) -> None:
        """Start the worker. Its jobs begin at once: partitions are made, invariants are checked."""
        self.worker = start(self.settings, self.testbed.folder / "worker.log", "worker")

    async def restart_worker(self) -> None:
        """Stop the worker as systemd does, and start it."""
        await self.stop_worker()
        self.start_worker()

    async def stop_worker(self) -> None:
        """Stop the worker as systemd does."""
        self.worker.terminate()
        await asyncio.to_thread(self.worker.wait, STOPS_WITHIN_S)

    async def operate(self, *words: str) -> None:
        """Run a command of the operator. Raises `RuntimeError` if it fails."""
        log = self.testbed.folder / "operator.log"
        process = start(self.settings, log, "operator", *words)
        if await asyncio.to_thread(process.wait) != 0:
            raise RuntimeError(f"{' '.join(words)} failed: {log.read_text()}")

    async def change(self, *statements: str) -> None:
        """Change rows past all rules, as nobody may: time cannot be waited for, and damage is damage."""
        connection = await self.testbed.connect()
        try:
            for statement in (PAST_ALL_RULES, *statements):
                await connection.execute(statement)
        finally:
            await connection.close()

    @asynccontextmanager
    async def lock_held(self, statement: str) -> AsyncIterator[None]:
        """A transaction of somebody else that ran this statement and does not end."""
        connection = await self.testbed.connect()
        try:
            async with connection.transaction():
                await connection.execute(statement)
                yield
        finally:
            await connection.close()

    async def stop_database(self) -> None:
        """End PostgreSQL at once."""
        await asyncio.to_thread(self.testbed.database.stop)

    async def start_database(self) -> None:
        """Start PostgreSQL."""
        self.testbed.database = await asyncio.to_thread(embedded.start, self.testbed.folder / "data")

    @asynccontextmanager
    async def read_only(self) -> AsyncIterator[None]:
        """The server accepts no writes, as after a failover to a replica."""
        await self.change("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        try:
            yield
        finally:
            await self.change(
                "SET default_transaction_read_only = off",
                "ALTER SYSTEM RESET default_transaction_read_only",
                "SELECT pg_reload_conf()",
            )

    async def start_node(self) -> Core:
        """Start the Bitcoin node."""
        core = Core()
        self._node = AsyncExitStack()
        url = await self._node.enter_async_context(serving(core))
        (self.testbed.folder / "node").write_text(url)
        return core

    async def stop_node(self) -> None:
        """Stop the Bitcoin node."""
        await self._node.aclose()

    @asynccontextmanager
    async def traffic(self, links_per_s: float = LINKS_PER_S) -> AsyncIterator[None]:
        """Payment links, pages, and events that are delivered, at steady rates."""
        async with cookies() as http:
            merchant = Merchant(f"http://127.0.0.1:{self.web_port}", http)
            await merchant.begin()
            reader = HealthyClient(f"http://127.0.0.1:{self.web_port}")
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._open_links(merchant, links_per_s)),
                    group.create_task(self._read_pages(reader)),
                    group.create_task(self._record_events()),
                ]
                try:
                    yield
                finally:
                    self.failed_requests = merchant.failed + len(reader.problems)
                    for task in tasks:
                        task.cancel()

    async def _open_links(self, merchant: Merchant, per_s: float) -> None:
        number = 0
        while True:
            number += 1
            await merchant.open_link(number)
            await asyncio.sleep(1 / per_s)

    async def _read_pages(self, reader: HealthyClient) -> None:
        while True:
            await reader.send_requests(READS_PER_S, 1.0)

    async def _record_events(self) -> None:
        while True:
            await self.producer.record(self.destination)
            await asyncio.sleep(1 / EVENTS_PER_S)

    def _add_rail(self) -> None:
        rails = self.testbed.folder / "rails.toml"
        rails.write_text(RAILS.format(folder=self.testbed.folder, xpub=ZPUB))
        rails.chmod(0o600)
        self.settings["TOLLHOUSE_RAILS_FILE"] = str(rails)

    async def _do_business(self) -> None:
        """A payment by transfer that is on a statement, and a withdrawal that is in a file for the bank."""
        await self.change("UPDATE users SET verified_at = now()")
        bank = Bank(self.services)
        await earned(self.merchant, bank, "100.00")
        await bank.export(await withdrawn(self.merchant, bank))

    async def _wait_for_metrics(self) -> None:
        """Until both serve metrics, those of a worker that has shown itself."""
        async with asyncio.timeout(SERVES_METRICS_WITHIN_S), aiohttp.ClientSession() as http:
            for address, line in zip(self.addresses, ("tollhouse_process_memory_bytes", RUNNING), strict=True):
                while line not in await _text_of(http, f"http://{address}/metrics"):
                    await asyncio.sleep(RETRY_AFTER_S)

    def _kill_all(self) -> None:
        for process in self._processes():
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def _processes(self) -> "Sequence[subprocess.Popen[bytes]]":
        return [one for one in (getattr(self, "web", None), getattr(self, "worker", None)) if one is not None]


async def _text_of(http: aiohttp.ClientSession, url: str) -> str:
    """Empty while nobody answers."""
    try:
        async with http.get(url) as response:
            return await response.text()
    except aiohttp.ClientError:
        return ""


def kill(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL, and wait."""
    process.send_signal(signal.SIGKILL)
    process.wait()
