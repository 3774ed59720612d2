"""Examples as processes: started with their settings, and killed at the end."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INSTALL = ("npm", "install", "--offline", "--no-package-lock", "--no-audit", "--no-fund")
WITHIN_S = 30


def install(example: str) -> None:
    """Install an example for Node, which needs the SDK and nothing else."""
    done = subprocess.run(INSTALL, cwd=EXAMPLES / example, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@asynccontextmanager
async def running(example: str, *command: str, url: str, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A server that answers at this address."""
    process = await asyncio.create_subprocess_exec(*command, cwd=EXAMPLES / example, env={**os.environ, **settings})
    try:
        await until(lambda: _answers(process, url))
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until this is so."""
    async with asyncio.timeout(WITHIN_S):
        while not await holds():
            await asyncio.sleep(0.05)


async def _answers(process: asyncio.subprocess.Process, url: str) -> bool:
    assert process.returncode is None, "the example ended at its start"
    async with aiohttp.ClientSession() as http:
        try:
            async with http.get(url):
                return True
        except aiohttp.ClientConnectionError:
            return False
