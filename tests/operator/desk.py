"""`tollhouse operator`, as a real command on the database of the tests' service."""

import asyncio
import os
import sys
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.running import KEY, Service


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
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tollhouse",
        *words,
        env={name: text for name, text in os.environ.items() if not name.startswith("TOLLHOUSE_")} | settings,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, talk = await process.communicate()
    return Outcome(process.returncode or 0, out.decode(), " ".join(talk.decode().split()))
