"""`tollhouse` as a process of its own on the database of the tests' service.

It is forked from one that has imported everything already: a tenth of what starting it costs.
"""

import asyncio
import multiprocessing
import multiprocessing.process
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.running import KEY, Service
from tollhouse.instance.cli.main import app, import_all, main

NURSERY = multiprocessing.get_context("forkserver")
NURSERY.set_forkserver_preload([__name__])
import_all(app)


@dataclass
class Outcome:
    """How the command ended, and what it printed."""

    status: int
    out: str
    talk: str

    @property
    def json(self) -> Any:
        """Standard output, which is one JSON text."""
        return msgspec.json.decode(self.out)


async def tollhouse(service: Service, *words: str, **environment: str) -> Outcome:
    """Run `tollhouse` with these words, beside the service."""
    settings = {
        "DATABASE_URL": service.dsn,
        "TOLLHOUSE_SECRET_KEYS": KEY,
        "TOLLHOUSE_DATA_DIR": str(service.settings.data_dir),
        **environment,
    }
    outside = {name: text for name, text in os.environ.items() if not name.startswith("TOLLHOUSE_")}
    with tempfile.TemporaryDirectory() as name:
        out, talk = Path(name) / "out", Path(name) / "talk"
        process = NURSERY.Process(target=play, args=(words, outside | settings, out, talk))
        await asyncio.to_thread(_run, process)
        return Outcome(process.exitcode or 0, out.read_text(), " ".join(talk.read_text().split()))


def _run(process: multiprocessing.process.BaseProcess) -> None:
    process.start()
    process.join()


def play(words: tuple[str, ...], environment: dict[str, str], out: Path, talk: Path) -> None:
    """Be the command: run it in this environment, print into these files, and exit as it does."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(out.parent)  # where there is no .env
    for path, descriptor in ((out, 1), (talk, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    sys.argv = ["tollhouse", *words]
    main()
