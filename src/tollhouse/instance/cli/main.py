"""The `tollhouse` command. Exits 0 on success, 1 on failure, 2 on invalid arguments.

Commands are imported when they are used, so that `serve` can start the database while the program is loaded.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from cyclopts import App, CycloptsError

from tollhouse.instance import supervisor
from tollhouse.instance.cli.options import (
    Host,
    MetricsPort,
    Port,
    Workers,
    give_up_rights,
    log_warnings,
    settings_for,
    stderr,
)
from tollhouse.instance.forks import run_supervised
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform import machine
from tollhouse.platform.failure import Failure
from tollhouse.platform.log import events as log
from tollhouse.platform.server import listening
from tollhouse.platform.settings import config, env_files

DEVELOPMENT = ".dev"
CHECKOUT = Path(__file__).parents[4]
GIT_WITHIN_S = 5


def program_version() -> str:
    """The version, such as `0.3.0`. Between releases also the commit: `0.3.0.dev0 (1a2b3c4d5e)`."""
    own = version("tollhouse")
    if DEVELOPMENT not in own or not (CHECKOUT / ".git").exists():
        return own
    words = ["git", "-C", str(CHECKOUT), "-c", "safe.directory=*", "rev-parse", "--short=10", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=GIT_WITHIN_S)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return own
    return f"{own} ({done.stdout.strip()})"


app = App(
    name="tollhouse",
    help="A self-hosted payment platform for merchants.",
    version_flags=["--version"],
    version=program_version,
)
SERVICES = {"serve", "web", "worker", "verify"}
"""Commands that run as a service or as a part of one, and write a log."""
operator = App(
    name="operator",
    help="Suspend merchants, review projects and withdrawals, post prices, correct balances. Every action is recorded.",
)
for name, group in (
    ("merchants", "merchants:merchants"),
    ("projects", "merchants:projects"),
    ("withdrawals", "reviews:withdrawals"),
    ("refunds", "reviews:refunds"),
    ("users", "merchants:users"),
    ("prices", "prices:prices"),
    ("positions", "prices:positions"),
    ("applications", "merchants:applications"),
    ("statements", "bank:statements"),
    ("payouts", "bank:payouts"),
    ("network-payouts", "network_payouts:app"),
    ("bitcoin-payouts", "bitcoin_payouts:app"),
    ("rail-balances", "rail_balances:app"),
    ("adjust", "merchants:adjust"),
):
    operator.command(f"tollhouse.instance.cli.operator.{group}", name=name)
app.command(operator)
for name, command in (
    ("web", "parts:web"),
    ("worker", "parts:worker"),
    ("migrate", "instance:migrate"),
    ("config", "instance:show_config"),
    ("routes", "instance:routes"),
    ("status", "instance:status"),
    ("keys", "keys:app"),
    ("check", "check:app"),
    ("doctor", "instance:examine_installation"),
    ("heads", "check:print_heads"),
    ("backup", "backup:app"),
    ("restore", "restore:restore_backup"),
    ("database", "database_upgrade:app"),
    ("retention", "instance:show_retention"),
    ("trace", "instance:print_trace"),
    ("person", "personal_data:person"),
    ("merchant", "personal_data:merchant"),
    ("signer", "signer:app"),
    ("demo", "demo:app"),
):
    app.command(f"tollhouse.instance.cli.{command}", name=name)
app.command("tollhouse.instance.cli.parts:verify", name="verify", show=False)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, by default with the arguments of the process."""
    log.set_up()
    machine.return_large_blocks()
    words = sys.argv[1:] if arguments is None else arguments
    is_service = bool(words) and words[0] in SERVICES
    if not words or not {"--help", "-h"}.isdisjoint(words):
        import_all(app)
    try:
        if arguments is None:  # parts get the environment of the supervisor
            env_files.apply(os.environ, Path())
        result = app(words, exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:
        sys.exit(2)
    except config.InvalidSettingsError as error:
        _print_errors(error.field_errors, is_service=is_service)
        sys.exit(1)
    except TemporarilyUnavailable as error:
        _print_errors([f"The database is not available: {error.detail}"], is_service=is_service)
        sys.exit(1)
    except (Failure, OSError) as error:
        _print_errors([str(error) or type(error).__name__], is_service=is_service)
        sys.exit(error.exit_status if isinstance(error, Failure) else 1)
    sys.exit(result if isinstance(result, int) else 0)


def _print_errors(lines: Sequence[str], *, is_service: bool) -> None:
    """Print why a command ends; as lines of the log, if it is a part of the service whose log a program reads."""
    for line in lines:
        if is_service and not stderr.is_terminal:
            log.log.error("start_failed", detail=line)
        else:
            stderr.print(line, style="red", markup=False)


def import_all(group: App) -> None:
    """Import the commands of a group: the help describes them."""
    for name in group:
        import_all(group[name])


@app.command
def serve(*, host: Host = "127.0.0.1", port: Port = 8000, workers: Workers = 1, metrics_port: MetricsPort = None) -> int:
    """Run migrations, the web server and the worker, with an embedded database unless DATABASE_URL is set."""
    settings = settings_for(port, metrics_port)
    log_warnings(settings)
    with listening.bind(host, port) as listener:
        give_up_rights(settings)
        how = supervisor.Serve(listener, workers)
        return run_supervised(partial(supervisor.serve, settings, how), listener.fileno())
