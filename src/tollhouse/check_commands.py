"""`tollhouse check`: whether the invariants hold. Exit 0 they do, 1 some do not, 2 the check did not come to its end."""

import asyncio
import signal
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tollhouse.checks.run import CheckUnfinishedError, Report, Scope, check
from tollhouse.platform import config, embedded
from tollhouse.short_commands import database

BROKEN, UNFINISHED = 1, 2
talk = Console(stderr=True, highlight=False)
app = App(name="check", help="Check the invariants of money, events and schema.")

Full = Annotated[
    bool, Parameter(name="--full", negative=(), help="Verify everything, not only what is new and a part of the rest.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]


@app.default
def run_check(*, full: Full = False, as_json: Json = False) -> int:
    """Print a line for each invariant that is broken. Exits 0, 1 where one is, and 2 where it could not finish."""
    try:
        with database() as settings:
            report = asyncio.run(_check(settings.database_url or "", Scope(full=full)))
    except (CheckUnfinishedError, config.SettingsRefusedError, embedded.EmbeddedError, OSError) as fault:
        return _unfinished(str(fault), as_json=as_json)
    except (asyncio.CancelledError, KeyboardInterrupt):
        return _unfinished("interrupted", as_json=as_json)
    if as_json:
        print(msgspec.json.encode({"finished": True} | msgspec.structs.asdict(report)).decode())
    else:
        for line in report.broken:
            print(line)
    looked_at = f"{report.rows:,} rows verified{'' if report.full else ': what is new, and a part of the rest'}."
    talk.print("All invariants hold." if not report.broken else f"{len(report.broken)} invariants are broken.", looked_at)
    return BROKEN if report.broken else 0


async def _check(dsn: str, scope: Scope) -> Report:
    """Run to the end, or until somebody stops it."""
    running = asyncio.current_task()
    if running is None:
        raise AssertionError("this runs in a task")
    for wish in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(wish, running.cancel)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=talk, transient=True) as bar:
        task = bar.add_task("waiting", total=None)

        def progress(part: str, done: int, whole: int) -> None:
            bar.update(task, description=part, completed=done, total=whole)

        report = await check(dsn, scope, progress=progress)
    if report is None:
        raise AssertionError("a check that waits is done")
    return report


def _unfinished(reason: str, *, as_json: bool) -> int:
    if as_json:
        print(msgspec.json.encode({"finished": False, "reason": reason}).decode())
    talk.print(f"The check could not finish: {reason}", style="red", markup=False)
    return UNFINISHED
