"""The whole service inside the test process: a real server on a real socket, and the delivery worker, in a thread."""

import asyncio
import contextlib
import logging
import socket
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import msgspec
import structlog
import uvloop

from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file, main
from tollhouse.instance.worker import work
from tollhouse.platform.database import roles
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.server import listening
from tollhouse.platform.server import server as http_server
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import Settings
from tollhouse.rails import configured
from tollhouse.transfers.gate.pauses_store import TAKE_IDENTITY

T = TypeVar("T")
KEY = "test:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU"
TEMPLATE = "migrated"
"""The database after all migrations, copied in a fifth of the time that migrating takes."""
QUICK_RETRIES = "0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1"


@cache
def _data_folder() -> "tempfile.TemporaryDirectory[str]":
    """That of all services of this process, not that of whoever runs the tests. Deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="tollhouse-data-", ignore_cleanup_errors=True)


def settings_for(dsn: str, *, fresh: bool = False, **changes: str) -> Settings:
    """Settings of a test service; `changes` are environment variables. `fresh` makes it a database of its own."""
    if fresh:
        dsn = asyncio.run(migrated_database(dsn))
    environment = {
        "DATABASE_URL": dsn,
        "TOLLHOUSE_SECRET_KEYS": KEY,
        "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "TOLLHOUSE_WEBHOOK_RETRY_SCHEDULE": QUICK_RETRIES,
        "TOLLHOUSE_RATE_LIMITS": "off",
        "TOLLHOUSE_BASE_URL": f"http://127.0.0.1:{free_port()}",
        "TOLLHOUSE_DATA_DIR": _data_folder().name,
        **changes,
    }
    return config.load(environment)


async def make_template(dsn: str) -> None:
    """Migrate the database of `dsn`, with which nobody may be connected, and keep a copy for `migrated_database`."""
    await migrate(as_application(dsn), dsn)
    await _copy(dsn, "tollhouse", TEMPLATE)


async def new_database(dsn: str) -> str:
    """An empty database beside the one of `dsn`."""
    return await _copy(dsn, "template1", f"t{uuid4().hex[:12]}")


async def migrated_database(dsn: str) -> str:
    """A database after all migrations beside the one of `dsn`."""
    copy = await copied_database(dsn)
    connection = await asyncpg.connect(copy)
    await connection.execute(TAKE_IDENTITY)  # payouts of a copied database are paused, but this one begins as one of its own
    await connection.close()
    return copy


async def copied_database(dsn: str) -> str:
    """The same, but without the identity of a database of its own, like a dump that was loaded by hand."""
    return await _copy(dsn, TEMPLATE, f"t{uuid4().hex[:12]}")


async def _copy(dsn: str, template: str, name: str) -> str:
    parts = urlsplit(dsn)
    connection = await asyncpg.connect(urlunsplit(parts._replace(path="/postgres")))
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    await connection.close()
    return urlunsplit(parts._replace(path=f"/{name}"))


def as_application(dsn: str) -> str:
    """The same database with the application role, for a server with trust authentication."""
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(netloc=f"{roles.APPLICATION}@{parts.netloc.rpartition('@')[2]}"))


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


JOBS = [job for job in main.JOBS if job.run is not main.watch_invariants]
"""What a worker does here. The invariants are checked by tests; a check of everything would be the first job of each."""
CATALOGUE = catalogue_file.read(b"")
"""The built-in catalogue of all services of this process, which tests may change for a while."""


POOLERS: list[Callable[[str], str]] = []
"""Called with the DSN of a database, the first returns its URL through a pooler: for a run of the tests through one."""


@cache
def _lasting_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


async def on_lasting_loop(action: Coroutine[Any, Any, T]) -> T:
    """Await this on a loop that lives longer than that of a test, for what is kept from one test to the next."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(action, _lasting_loop()))


IDLE: dict[str, list["asyncpg.Connection[asyncpg.Record]"]] = {}
"""Connections by DSN, kept by `fetch` for its next statement: opening one takes longer than most statements."""


async def _fetch(dsn: str, statement: str, *args: Any) -> list[Any]:
    idle = IDLE.setdefault(dsn, [])
    connection = idle.pop() if idle else await asyncpg.connect(dsn)
    if connection.is_closed():
        return await _fetch(dsn, statement, *args)
    try:
        found = await connection.fetch(statement, *args)
    except asyncpg.PostgresError:
        idle.append(connection)
        raise
    except BaseException:
        connection.terminate()
        raise
    idle.append(connection)
    return found


async def _forget(dsn: str) -> None:
    for connection in IDLE.pop(dsn, []):
        await connection.close()


END_POOLED_SESSIONS = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND starts_with(application_name, 'tollhouse ')
"""


class Service:
    """A running Tollhouse. `worker=False` leaves the worker out. Web and worker share `rails`, which tests may change."""

    def __init__(self, settings: Settings, *, worker: bool = True) -> None:
        self.settings = settings
        self.rails = configured.build(settings)
        self.url = settings.base_url
        self.dsn = settings.database_url or ""
        self._worker = worker
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failed: BaseException | None = None

    def start(self) -> Self:
        """Migrate and serve; returns when the first request would be answered."""
        self._thread.start()
        self._started.wait(30)
        if self._failed is not None:
            raise self._failed
        return self

    def stop(self) -> None:
        """Stop gracefully."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop)
        asyncio.run_coroutine_threadsafe(_forget(self.dsn), _lasting_loop()).result(30)
        self._thread.join(30)

    def end_pooled_sessions(self) -> None:
        """End what a pooler keeps open after `stop`, as RECONNECT in its console does."""
        if POOLERS:
            asyncio.run_coroutine_threadsafe(_fetch(self.dsn, END_POOLED_SESSIONS), _lasting_loop()).result(30)

    def create_services(self, *, connections: int | None = None) -> Services:
        """Services of the same instance, for what a test does without a request."""
        return self._create(self.settings, connections=connections)

    def _create(self, settings: Settings, *, connections: int | None = None) -> Services:
        catalogue = CATALOGUE if settings.catalogue_file is None else None
        return main.create_services(settings, connections=connections, rails=self.rails, catalogue=catalogue)

    async def sql(self, statement: str, *args: Any) -> list[Any]:
        """Look into its database."""
        return await on_lasting_loop(_fetch(self.dsn, statement, *args))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            uvloop.run(self._live())
        except BaseException as problem:  # noqa: BLE001 - the starter raises it
            self._failed = problem
        self._started.set()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        settings = msgspec.structs.replace(self.settings, database_url=as_application(self.dsn))
        if POOLERS and settings.pooler_database_url is None:
            settings = msgspec.structs.replace(settings, pooler_database_url=POOLERS[0](self.dsn))
        await migrate(settings.database_url or "", self.dsn)
        stop = asyncio.Event()
        asgi = main.build(self._create(settings))
        listener = listening.bind("127.0.0.1", urlsplit(self.url).port or 0)
        server = http_server.make(asgi, self.settings)
        server.config.timeout_graceful_shutdown = 3

        def halt() -> None:
            stop.set()
            server.should_exit = True

        self._stop = halt
        tasks = [asyncio.create_task(server.serve([listener]))]
        if self._worker:
            services = self._create(settings)
            tasks.append(asyncio.create_task(work(services, stop, JOBS)))
        while not server.started and not tasks[0].done():
            await asyncio.sleep(0.01)
        self._started.set()
        await asyncio.gather(*tasks)


@contextlib.contextmanager
def warnings_only() -> Iterator[None]:
    """Log no line for each of many thousand requests."""
    usual = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    yield
    structlog.configure(wrapper_class=usual)


async def with_limits(make_service: Callable[..., Service], **changes: str) -> Service:
    """A service that limits attempts, on the shared database, where what other tests attempted is forgotten."""
    service = make_service(**({"TOLLHOUSE_RATE_LIMITS": "on"} | changes))
    await service.sql("DELETE FROM failed_attempts")
    return service
