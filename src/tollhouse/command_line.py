"""The command line. Data goes to standard output, talk to standard error; exit 0 done, 1 failed, 2 usage."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import msgspec
from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from tollhouse import (
    application_commands,
    backup_commands,
    bank_commands,
    check_commands,
    keys_commands,
    operator_commands,
    supervisor,
)
from tollhouse import main as root
from tollhouse.api import OPERATIONS
from tollhouse.demo.run import run as run_demo
from tollhouse.demo.seed import DemoError
from tollhouse.events import status as delivery_status
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform import config, embedded, http_server, log, migrations
from tollhouse.platform.backup import BackupError
from tollhouse.platform.db import Pool
from tollhouse.worker import run, work

talk = Console(stderr=True, highlight=False)
app = App(name="tollhouse", help="A self-hosted payment platform for merchants.", version_flags=[])
operator_commands.app.command(application_commands.app)
operator_commands.app.command(bank_commands.statements)
operator_commands.app.command(bank_commands.payouts)
app.command(operator_commands.app)
app.command(keys_commands.app)
app.command(check_commands.app)
app.command(backup_commands.write_backup, name="backup")
app.command(backup_commands.restore_backup, name="restore")

Host = Annotated[str, Parameter(help="Address to listen on.")]
Port = Annotated[int, Parameter(help="Port to listen on.")]
Workers = Annotated[int, Parameter(help="Web processes.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
Hidden = Parameter(show=False)


def main() -> NoReturn:
    """Run the command line."""
    log.set_up()
    try:
        result = app(exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:
        sys.exit(2)
    except config.SettingsRefusedError as fault:
        for line in fault.field_errors:
            talk.print(line, style="red", markup=False)
        sys.exit(1)
    except TemporarilyUnavailable as fault:
        talk.print(f"The database is not available: {fault.detail}", style="red", markup=False)
        sys.exit(1)
    except (
        embedded.EmbeddedError,
        BackupError,
        http_server.ListenError,
        DemoError,
        migrations.MigrationsDisagreeError,
        OSError,
    ) as fault:
        talk.print(str(fault) or type(fault).__name__, style="red", markup=False)
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


@app.command
def serve(*, host: Host = "127.0.0.1", port: Port = 8000, workers: Workers = 1) -> None:
    """Run everything: the embedded database where there is no DATABASE_URL, migrations, web and delivery worker."""
    settings = _settings_for(port)
    asyncio.run(supervisor.serve(settings, supervisor.Serve(host, port, workers)))


@app.command
def demo(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    receiver_port: Annotated[int, Parameter(help="Port of the page that shows arriving webhooks.")] = 8001,
) -> None:
    """Serve with a sample merchant, application and payment link, and print what to open.

    It keeps its data in a folder of its own, beside that of `serve`: its name ends in `-demo`.
    """
    os.environ.setdefault("TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8")
    asyncio.run(run_demo(settings_for_demo(port), supervisor.Serve(host, port, 1), receiver_port))


@app.command
def web(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    socket_fd: Annotated[int | None, Hidden] = None,
) -> int:
    """Serve the web. Needs DATABASE_URL."""
    settings = _with_database(_settings_for(port))
    if socket_fd is None and workers > 1:
        asyncio.run(root.verify(settings))
        return _many_webs(host, port, workers)
    if socket_fd is not None:
        _end_with_parent()
    with http_server.bind(host, port) if socket_fd is None else http_server.handed_over(socket_fd) as listener:
        if socket_fd is None:
            asyncio.run(root.verify(settings))
        server = http_server.make(root.build(root.create_services(settings)), settings)
        server.run([listener])
    return 0 if server.started else 1


@app.command
def worker(*, supervised: Annotated[bool, Hidden] = False) -> None:
    """Deliver webhooks and do what is due. Needs DATABASE_URL."""
    settings = _with_database(config.load())
    if supervised:
        _end_with_parent()
    else:
        asyncio.run(root.verify(settings))
    run(_work(settings))


@app.command
def migrate() -> None:
    """Bring the database to this version."""
    with _database(config.load()) as settings:
        for name in asyncio.run(migrations.migrate(settings.database_url or "", settings.migration_database_url)):
            print(name)


@app.command(name="config")
def show_config(*, as_json: Json = False) -> int:
    """Print each setting with its meaning, default and present value, and every fault there is."""
    try:
        settings, field_errors = config.load(), list[str]()
    except config.SettingsRefusedError as fault:
        settings, field_errors = None, fault.field_errors
    rows = [
        {"name": one.name, "meaning": one.meaning, "default": one.default, "value": _shown(one)} for one in config.SETTINGS
    ]
    if as_json:
        print(msgspec.json.encode({"settings": rows, "errors": field_errors}).decode())
    else:
        for row in rows:
            print(f"{row['name']}\n    {row['meaning']}\n    default: {row['default'] or '-'}   now: {row['value'] or '-'}")
    for fault in field_errors:
        talk.print(fault, style="red", markup=False)
    return 0 if settings is not None else 1


@app.command
def routes() -> None:
    """Print every route: door, method, path, guard, idempotency and handler."""
    print(root.route_table(OPERATIONS), end="")


@app.command
def status(*, as_json: Json = False) -> None:
    """Print how delivery is doing: the age of the oldest undelivered event in each lane, what waits, recent results."""
    with _database(config.load()) as settings:
        seen = asyncio.run(_status(settings.database_url or ""))
    if as_json:
        print(msgspec.json.encode(seen).decode())
        return
    for lane in seen.lanes:
        print(f"{lane.lane:<8} {lane.destinations:>6} destinations, oldest {lane.oldest_ms} ms")
    print(f"ready {seen.ready}, later {seen.later}, held {seen.held}; claim {seen.claim_ms} ms")
    for result, count in seen.results.items():
        print(f"{result:<24} {count}")


async def _status(dsn: str) -> delivery_status.DeliveryStatus:
    pool = Pool(dsn, 1)
    try:
        return await delivery_status.read_status(pool)
    finally:
        await pool.close()


async def _work(settings: config.Settings) -> None:
    stop = asyncio.Event()
    for wish in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(wish, stop.set)
    services = root.create_services(settings)
    await work(services, stop, root.JOBS)


def _many_webs(host: str, port: int, workers: int) -> int:
    """`web --workers N`: the supervisor without database, migrations and worker."""
    asyncio.run(supervisor.serve_web(config.load(), supervisor.Serve(host, port, workers)))
    return 0


def _settings_for(port: int) -> config.Settings:
    """The settings; where no base URL is set, the one that fits the port."""
    environ: dict[str, str] = dict(os.environ)
    environ.setdefault("TOLLHOUSE_BASE_URL", f"http://localhost:{port}")
    return config.load(environ)


def settings_for_demo(port: int) -> config.Settings:
    """The same, in a data folder of its own: sample data never meets what is in use."""
    settings = _settings_for(port)
    if settings.database_url is not None:
        raise config.SettingsRefusedError(["tollhouse demo brings its own database: unset DATABASE_URL"])
    folder = settings.data_dir.absolute()
    return msgspec.structs.replace(settings, data_dir=folder.with_name(f"{folder.name}-demo"), secret_keys=())


def _with_database(settings: config.Settings) -> config.Settings:
    if settings.database_url is None:
        raise config.SettingsRefusedError(["DATABASE_URL is needed here (tollhouse serve brings its own database)"])
    return settings


@contextmanager
def _database(settings: config.Settings) -> Iterator[config.Settings]:
    """The settings with a database: the set one, or the embedded one, started for the command when it does not run."""
    if settings.database_url is not None:
        yield settings
        return
    settings = supervisor.with_keys(settings)  # a new data folder gets its keys before its database
    with embedded.borrowed(settings.data_dir) as cluster:
        yield msgspec.structs.replace(settings, database_url=cluster.application_dsn, migration_database_url=cluster.dsn)


def _end_with_parent() -> None:
    """Stop when the supervisor is gone: it holds the other end of our standard input."""

    def watch() -> None:
        while os.read(0, 1):  # the bare descriptor: a buffered reader would hold its lock when the process ends
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def _shown(setting: config.Setting) -> str:
    text = os.environ.get(setting.name, "").strip()
    if setting.secret and text:
        return "(set)"
    return text or setting.default
