"""`tollhouse check`: verify the invariants. `tollhouse heads`: signed heads of the hash chain, to keep elsewhere."""

import asyncio
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tollhouse.http.services import Services
from tollhouse.instance.checks.run import CheckUnfinishedError, Report, Scope, check
from tollhouse.instance.cli.actions import database, run
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.instance.database import embedded
from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.ledger.hash_chain import chain
from tollhouse.ledger.hash_chain.model import Head
from tollhouse.platform.database.pool import connected
from tollhouse.platform.settings import config

BROKEN, UNFINISHED = 1, 2
app = App(name="check", help="Check the invariants of money, events and schema.")

Full = Annotated[
    bool, Parameter(name="--full", negative=(), help="Verify all rows instead of new rows and a part of the others.")
]

HeadFile = Annotated[
    Path | None,
    Parameter(name="--head", help="A file of heads from `tollhouse heads`, kept elsewhere, to compare with the database."),
]
Since = Annotated[datetime | None, Parameter(help="Print every head since this day or time (UTC) instead of the last one.")]


class InvalidHeadsError(ValueError):
    """The file has no heads."""


@app.default
def run_check(*, full: Full = False, head: HeadFile = None, as_json: Json = False) -> int:
    """Print a line for each broken invariant. Exits 0 if all hold, 1 if some are broken, 2 if the check could not finish."""
    try:
        kept = [] if head is None else _read_heads(head)
        with database() as settings:
            report = asyncio.run(_check(settings.database_url or "", Scope(full=full), kept))
    except (CheckUnfinishedError, InvalidHeadsError, config.InvalidSettingsError, embedded.EmbeddedError, OSError) as error:
        return _unfinished(str(error), as_json=as_json)
    except (asyncio.CancelledError, KeyboardInterrupt):
        return _unfinished("interrupted", as_json=as_json)
    if as_json:
        print(msgspec.json.encode({"finished": True} | msgspec.structs.asdict(report)).decode())
    else:
        for line in report.broken:
            print(line)
    verified = f"{report.rows:,} rows verified{'' if report.full else ': new rows and a part of the others'}."
    stderr.print(f"{len(report.broken)} invariants are broken." if report.broken else "All invariants hold.", verified)
    return BROKEN if report.broken else 0


def _read_heads(file: Path) -> list[Head]:
    """The heads of a file, a line each."""
    heads: list[Head] = []
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            heads.append(foreign_json.decode(line, Head))
        except ForeignJsonError as error:
            raise InvalidHeadsError(f"{file}, line {number} is not a head from `tollhouse heads`: {error}") from None
    if not heads:
        raise InvalidHeadsError(f"{file} has no heads.")
    return heads


async def _check(dsn: str, scope: Scope, kept: list[Head]) -> Report:
    """Run the check with a progress bar. SIGINT and SIGTERM cancel it."""
    task = asyncio.current_task()
    if task is None:
        raise AssertionError("this runs in a task")
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr, transient=True) as bar:
        progress_task = bar.add_task("waiting", total=None)

        def progress(part: str, done: int, total: int) -> None:
            bar.update(progress_task, description=part, completed=done, total=total)

        report = await check(dsn, scope, progress=progress)
    if report is None:
        raise AssertionError("a check that waits for its lock returns a report")
    return replace(report, broken=report.broken + await _compare(dsn, kept)) if kept else report


async def _compare(dsn: str, kept: list[Head]) -> list[str]:
    async with connected(dsn) as tx:
        return [f"I25 heads that were kept match the hash chain: {line}" for line in await chain.compare(tx, kept)]


def _unfinished(reason: str, *, as_json: bool) -> int:
    if as_json:
        print(msgspec.json.encode({"finished": False, "reason": reason}).decode())
    stderr.print(f"The check could not finish: {reason}", style="red", markup=False)
    return UNFINISHED


def print_heads(*, since: Since = None) -> None:
    """Print the signed head of the hash chain, as a line of JSON. Compare it later: `tollhouse check --head FILE`."""

    async def list_heads(services: Services) -> list[Head]:
        async with services.db.connection() as tx:
            return await chain.list_heads(tx, since if since is None or since.tzinfo else since.replace(tzinfo=UTC))

    heads = run(list_heads)
    for head in heads:
        print(msgspec.json.encode(head).decode())
    if not heads:
        stderr.print("There is no head yet. The worker signs one every hour.")
