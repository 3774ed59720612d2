"""The `tollhouse` command. Exits 0 on success, 1 on failure, 2 on invalid arguments."""

import asyncio
import os
import signal
import sys
import threading
from typing import Annotated, NoReturn

import msgspec
from cyclopts import App, CycloptsError, Parameter

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.api import OPERATIONS
from tollhouse.cli import applications, backup, bank, check, keys, merchants, operators, prices, reviews
from tollhouse.cli.actions import Json, stderr
from tollhouse.cli.database import database
from tollhouse.demo.run import run as run_demo
from tollhouse.demo.seed import DemoError
from tollhouse.events import status as delivery_status
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform import config, embedded, http_server, log, migrations
from tollhouse.platform.backup import BackupError
from tollhouse.platform.db import Pool
from tollhouse.worker import run, work

app = App(name="tollhouse", help="A self-hosted payment platform for merchants.", version_flags=[])
operator = App(
    name="operator",
    help="Suspend merchants, review projects and withdrawals, post prices, correct balances. Every action is recorded.",
)
for group in (
    merchants.merchants,
    merchants.projects,
    reviews.withdrawals,
    reviews.refunds,
    operators.app,
    prices.app,
    applications.app,
    bank.statements,
    bank.payouts,
):
    operator.command(group)
operator.command(merchants.adjust)
app.command(operator)
app.command(keys.app)
app.command(check.app)
app.command(backup.write_backup, name="backup")
app.command(backup.restore_backup, name="restore")

Host = Annotated[str, Parameter(help="Address to listen on.")]
Port = Annotated[int, Parameter(help="Port to listen on.")]
Workers = Annotated[int, Parameter(help="Number of web processes.")]
Hidden = Parameter(show=False)


def main() -> NoReturn:
    """Run the command line."""
    log.set_up()
    try:
        result = app(exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:
        sys.exit(2)
    except config.InvalidSettingsError as error:
        for line in error.field_errors:
            stderr.print(line, style="red", markup=False)
        sys.exit(1)
    except TemporarilyUnavailable as error:
        stderr.print(f"The database is not available: {error.detail}", style="red", markup=False)
        sys.exit(1)
    except (
        embedded.EmbeddedError,
        BackupError,
        http_server.ListenError,
        DemoError,
        migrations.MigrationsDisagreeError,
        OSError,
    ) as error:
        stderr.print(str(error) or type(error).__name__, style="red", markup=False)
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


@app.command
def serve(*, host: Host = "127.0.0.1", port: Port = 8000, workers: Workers = 1) -> None:
    """Run migrations, the web server and the worker, with an embedded database unless DATABASE_URL is set."""
    asyncio.run(supervisor.serve(_settings_for(port), supervisor.Serve(host, port, workers)))


@app.command
def demo(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    receiver_port: Annotated[int, Parameter(help="Port of the page that shows received webhooks.")] = 8001,
) -> None:
    """Run the service with a sample merchant, application and payment link, and print their addresses.

    The data folder is separate from that of `serve`: its name ends in `-demo`.
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
    """Run the web server. Requires DATABASE_URL."""
    settings = _require_database(_settings_for(port))
    if socket_fd is None and workers > 1:
        asyncio.run(root.verify(settings))
        asyncio.run(supervisor.serve_web(config.load(), supervisor.Serve(host, port, workers)))
        return 0
    if socket_fd is not None:
        _stop_with_parent()
    with http_server.bind(host, port) if socket_fd is None else http_server.inherited_socket(socket_fd) as listener:
        if socket_fd is None:
            asyncio.run(root.verify(settings))
        server = http_server.make(root.build(root.create_services(settings)), settings)
        server.run([listener])
    return 0 if server.started else 1


@app.command
def worker(*, supervised: Annotated[bool, Hidden] = False) -> None:
    """Run the worker: deliver webhooks and run periodic jobs. Requires DATABASE_URL."""
    settings = _require_database(config.load())
    if supervised:
        _stop_with_parent()
    else:
        asyncio.run(root.verify(settings))
    run(_work(settings))


@app.command
def migrate() -> None:
    """Migrate the database to this version's schema."""
    with database() as settings:
        for name in asyncio.run(migrations.migrate(settings.database_url or "", settings.migration_database_url)):
            print(name)


@app.command(name="config")
def show_config(*, as_json: Json = False) -> int:
    """Print each setting with its meaning, default and current value, and all errors."""
    try:
        settings, errors = config.load(), list[str]()
    except config.InvalidSettingsError as error:
        settings, errors = None, error.field_errors
    rows = [
        {"name": one.name, "meaning": one.meaning, "default": one.default, "value": _value(one)} for one in config.SETTINGS
    ]
    if as_json:
        print(msgspec.json.encode({"settings": rows, "errors": errors}).decode())
    else:
        for row in rows:
            print(f"{row['name']}\n    {row['meaning']}\n    default: {row['default'] or '-'}   now: {row['value'] or '-'}")
    for error in errors:
        stderr.print(error, style="red", markup=False)
    return 0 if settings is not None else 1


@app.command
def routes() -> None:
    """Print every route: method, path, surface, guard, idempotency and handler."""
    print(root.route_table(OPERATIONS), end="")


@app.command
def status(*, as_json: Json = False) -> None:
    """Print the state of webhook delivery: the oldest event of each lane, the queue, and recent results."""
    with database() as settings:
        current = asyncio.run(_status(settings.database_url or ""))
    if as_json:
        print(msgspec.json.encode(current).decode())
        return
    for lane in current.lanes:
        print(f"{lane.lane:<8} {lane.destinations:>6} destinations, oldest {lane.oldest_ms} ms")
    print(f"ready {current.ready}, later {current.later}, held {current.held}; claim {current.claim_ms} ms")
    for result, count in current.results.items():
        print(f"{result:<24} {count}")


async def _status(dsn: str) -> delivery_status.DeliveryStatus:
    pool = Pool(dsn, 1)
    try:
        return await delivery_status.read_status(pool)
    finally:
        await pool.close()


async def _work(settings: config.Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await work(root.create_services(settings), stop, root.JOBS)


def _settings_for(port: int) -> config.Settings:
    """The settings, with a base URL for this port unless one is configured."""
    environ: dict[str, str] = dict(os.environ)
    environ.setdefault("TOLLHOUSE_BASE_URL", f"http://localhost:{port}")
    return config.load(environ)


def settings_for_demo(port: int) -> config.Settings:
    """The settings with the demo's own data folder, which never holds real data."""
    settings = _settings_for(port)
    if settings.database_url is not None:
        raise config.InvalidSettingsError(["tollhouse demo uses an embedded database. Unset DATABASE_URL."])
    folder = settings.data_dir.absolute()
    return msgspec.structs.replace(settings, data_dir=folder.with_name(f"{folder.name}-demo"), secret_keys=())


def _require_database(settings: config.Settings) -> config.Settings:
    if settings.database_url is None:
        raise config.InvalidSettingsError(["DATABASE_URL is required. To use the embedded database, run `tollhouse serve`."])
    return settings


def _stop_with_parent() -> None:
    """Stop when the supervisor ends, which closes the other end of standard input."""

    def watch() -> None:
        while os.read(0, 1):  # not a buffered reader, which would hold its lock while the process ends
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def _value(setting: config.Setting) -> str:
    text = os.environ.get(setting.name, "").strip()
    if setting.secret and text:
        return "(set)"
    return text or setting.default
