"""One embedded PostgreSQL and one whole service for the test session; a cast for each test."""

import asyncio
import gc
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
import structlog
from argon2 import PasswordHasher
from hypothesis import HealthCheck, settings
from playwright.async_api import Browser

from tests import memory

memory.use()
pytest.register_assert_rewrite("tests.cast", "tests.browser", "tests.processes", "tests.receiver")

from tests import extent, pgbouncer  # noqa: E402
from tests.browser import chromium  # noqa: E402
from tests.cast import Actor, sign_up  # noqa: E402
from tests.left_open import close_left_open  # noqa: E402
from tests.receiver import Receiver  # noqa: E402
from tests.running import POOLERS, Service, free_port, make_template, migrated_database, settings_for  # noqa: E402
from tollhouse.http.services import Services  # noqa: E402
from tollhouse.instance.database import embedded  # noqa: E402
from tollhouse.platform import passwords  # noqa: E402
from tollhouse.platform.database.pool import connect  # noqa: E402

structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)
"""Tests that let the service fail log many tracebacks: with colors and variables they take most of the time."""
passwords.HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Nearly every test signs somebody up: at the cost of a real hash that would be a quarter of their time."""

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
"""How long an example takes says something of the machine, and nothing of the code."""

WAITS_AT_MOST = "60s"
"""For a lock, or for the next statement of a transaction, unless a connection says otherwise: no test waits without end."""
BROWSERS = 2
GARBAGE_AFTER = 20_000
"""Threshold of the garbage collector, as in the worker."""
gc.disable()  # until all modules and tests are there


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of our own."""
    extent.add_option(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Know how much is tested before tests are imported, and tell of failures early."""
    extent.choose(config)
    config.option.loadscopereorder = False  # it would begin with the groups of most tests, which are the quick ones
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if isinstance(terminal, pytest.TerminalReporter) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(EarlyFailures(terminal))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, and let one process run all tests of a file, for which it sets up once what they share.

    At most two processes start a browser, each with half of the files that need one. Of tests that share an id, only one
    would run where processes divide them among themselves.
    """
    extent.deselect_long(config, items)
    files = sorted({item.path for item in items if item.get_closest_marker("browser")})
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group(f"browser-{files.index(item.path) % BROWSERS}"))
        elif not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
    if shared := [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]:
        raise pytest.UsageError(f"these ids are shared by several tests: {', '.join(shared)}")
    if hasattr(config, "workerinput"):
        extent.begin_with_slow(items)


class EarlyFailures:
    """Tells of each failure when it happens: the whole report comes at the end. Names of tests are without their group."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, its set-up or its teardown has ended."""
        name, at, group = report.nodeid.rpartition("@")
        if at and "]" not in group:
            report.nodeid = name
        if report.failed:
            said = getattr(getattr(report.longrepr, "reprcrash", None), "message", "").partition("\n")[0]
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {said[:300]}", red=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage from now on, and not in what is there already: a million objects, which stay."""
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Close the connections that a failed test left open, and name them in its report."""
    report = yield
    if call.excinfo is not None and (closed := close_left_open(call.excinfo.tb)):
        report.sections.append(("Connections left open", "\n".join(closed)))
    return report


@pytest.fixture(scope="session")
def skip_aloud(pytestconfig: pytest.Config) -> Callable[[str], NoReturn]:
    """Skips, and says so where it is seen."""
    capture: Any = pytestconfig.pluginmanager.getplugin("capturemanager")

    def skip(said: str) -> NoReturn:
        if capture is not None:
            with capture.global_and_fixture_disabled():
                print(f"\n{'!' * 100}\n{said}\n{'!' * 100}")  # noqa: T201 - a skip that nobody sees is a lie
        pytest.skip(said)

    return skip


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Tests run on asyncio, as the service does."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def server() -> Iterator[embedded.Server]:
    """The embedded PostgreSQL of this test process. Tests kill processes; nobody pulls a plug, so no disk is waited for."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-tests-") as folder:
        Path(folder).chmod(0o711)
        running = embedded.start(Path(folder) / "data")
        asyncio.run(_configure(running.cluster.dsn))
        asyncio.run(make_template(running.cluster.dsn))
        with _pooler(running):
            yield running
        running.stop()


@contextmanager
def _pooler(server: embedded.Server) -> Iterator[None]:
    """With `THROUGH_POOLER=1`, all services of the tests reach their databases through PgBouncer: `just pooler`."""
    if not os.environ.get("THROUGH_POOLER"):
        yield
        return
    asyncio.run(pgbouncer.set_role_settings(server.cluster.dsn))
    with pgbouncer.running(server.cluster) as bouncer:
        POOLERS.append(bouncer.url)
        yield


async def _configure(dsn: str) -> None:
    connection = await connect(dsn)
    for setting in ("fsync", "full_page_writes"):
        await connection.execute(f"ALTER SYSTEM SET {setting} = off")
    for setting in ("lock_timeout", "idle_in_transaction_session_timeout"):
        await connection.execute(f"ALTER SYSTEM SET {setting} = '{WAITS_AT_MOST}'")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


@pytest.fixture(scope="session")
def service(server: embedded.Server) -> Iterator[Service]:
    """The whole service with its default settings: web and worker, over real HTTP."""
    with Service(settings_for(server.cluster.dsn)) as running:
        yield running


@pytest.fixture(scope="module")
def make_service(server: embedded.Server) -> Iterator[Callable[..., Service]]:
    """More services with other settings, each set started once in a file; `fresh=True` gives it its own database."""
    running: dict[str, Service] = {}

    def make(*, fresh: bool = False, **changes: Any) -> Service:
        name = repr((fresh, sorted(changes.items())))
        if name not in running:
            running[name] = Service(settings_for(server.cluster.dsn, fresh=fresh, **changes)).start()
        return running[name]

    yield make
    for one in running.values():
        one.stop()


@pytest.fixture
def restarted(server: embedded.Server) -> Iterator[Callable[..., Service]]:
    """A service on a database of its own, stopped and started with other settings at the same address by each call."""
    dsn = asyncio.run(migrated_database(server.cluster.dsn))
    url = f"http://127.0.0.1:{free_port()}"
    running: list[Service] = []

    def restart(**changes: Any) -> Service:
        while running:
            stopped = running.pop()
            stopped.stop()
            stopped.end_pooled_sessions()
        running.append(Service(settings_for(dsn, TOLLHOUSE_BASE_URL=url, **changes)).start())
        return running[0]

    yield restart
    for one in running:
        one.stop()


@pytest.fixture(scope="module")
async def services(service: Service) -> AsyncIterator[Services]:
    """Services on its database, for what a test does without a request: a file's tests share the connections.

    On a new one PostgreSQL plans every statement and compiles every function, which takes longer than most tests.
    """
    opened = service.create_services(connections=4)
    yield opened
    await opened.db.close()


@pytest.fixture
async def alice(service: Service) -> AsyncIterator[Actor]:
    """Alice sells."""
    async with sign_up(service, "alice", "Alice's Coffee") as actor:
        yield actor


@pytest.fixture
async def bob(service: Service) -> AsyncIterator[Actor]:
    """Bob owns an application."""
    async with sign_up(service, "bob", "Bob's Books") as actor:
        yield actor


@pytest.fixture
async def carol(service: Service) -> AsyncIterator[Actor]:
    """Carol is another merchant."""
    async with sign_up(service, "carol", "Carol's Cakes") as actor:
        yield actor


@pytest.fixture
async def mallory(service: Service) -> AsyncIterator[Actor]:
    """Mallory tries."""
    async with sign_up(service, "mallory", "Mallory's Mischief") as actor:
        yield actor


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium for the tests of a file, each of which opens windows of its own."""
    async with chromium() as one:
        yield one


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A real HTTP server on loopback that records what it gets and misbehaves on request."""
    async with Receiver() as one:
        yield one
