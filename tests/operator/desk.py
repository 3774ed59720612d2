"""`tollhouse operator`, as a process of its own on the database of the tests' service."""

import asyncio
import multiprocessing
import multiprocessing.process
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.operator.command import play
from tests.running import KEY, Service

NURSERY = multiprocessing.get_context("forkserver")
NURSERY.set_forkserver_preload([play.__module__])


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


async def operator(service: Service, *words: str, **environment: str) -> Outcome:
    """Run `tollhouse operator` with these words."""
    return await tollhouse(service, "operator", *words, **environment)


async def tollhouse(service: Service, *words: str, **environment: str) -> Outcome:
    """Run `tollhouse` with these words, beside the service."""
    settings = {"DATABASE_URL": service.dsn, "TOLLHOUSE_SECRET_KEYS": KEY} | environment
    outside = {name: text for name, text in os.environ.items() if not name.startswith("TOLLHOUSE_")}
    with tempfile.TemporaryDirectory() as name:
        out, talk = Path(name) / "out", Path(name) / "talk"
        process = NURSERY.Process(target=play, args=(words, outside | settings, out, talk))
        await asyncio.to_thread(_run, process)
        return Outcome(process.exitcode or 0, out.read_text(), " ".join(talk.read_text().split()))


def _run(process: multiprocessing.process.BaseProcess) -> None:
    process.start()
    process.join()
