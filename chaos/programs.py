"""Commands of Tollhouse as processes of their own."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import aiohttp

READY_WITHIN_S = 60.0


def start(settings: Mapping[str, str], log: Path, *words: str, program: Path | None = None) -> "subprocess.Popen[bytes]":
    """Run `tollhouse` with these settings and words, from the sources in `program` or from this checkout."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    sources = {} if program is None else {"PYTHONPATH": str(program)}
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "tollhouse", *words],
            env={**outside, **settings, **sources},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


async def wait_until_ready(url: str) -> None:
    """Wait until `/readyz` returns 200. Raises `TimeoutError`."""
    async with asyncio.timeout(READY_WITHIN_S), aiohttp.ClientSession() as http:
        while True:
            try:
                async with http.get(f"{url}/readyz") as answer:
                    if answer.ok:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.05)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def replace_in(file: Path, changes: Mapping[str, str]) -> None:
    """Replace texts of a file. Raises `RuntimeError` for one that is not there."""
    text = file.read_text()
    for old, new in changes.items():
        if old not in text:
            raise RuntimeError(f"{file} has changed: {old!r}")
        text = text.replace(old, new)
    file.write_text(text)
