"""Programs that the demo needs beside the service. They end with the demo, however it ends."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from tollhouse.platform.failure import Failure

GUARD = """
    exec 3<&0
    "$@" 3<&- & program=$!
    { cat <&3 > /dev/null; kill $program; } & guard=$!
    wait $program; status=$?
    kill $guard 2> /dev/null; exit $status
"""
"""Runs a program until it ends or standard input closes, as it does when the process that has its other end is killed."""
TOLLHOUSE = (sys.executable, "-m", "tollhouse")
ENDS_WITHIN_S = 15
POLL_INTERVAL = timedelta(milliseconds=50)


async def pause() -> None:
    """Wait a moment before the next look at something that starts."""
    await asyncio.sleep(POLL_INTERVAL.total_seconds())


@asynccontextmanager
async def running(output: Path, *command: str) -> AsyncIterator[Process]:
    """A program with its output in a new file, ended on exit. Raises `OSError`."""
    with output.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", GUARD, "sh", *command, stdin=PIPE, stdout=file, stderr=STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), ENDS_WITHIN_S)
        except TimeoutError:
            process.kill()
            await process.wait()


async def output_of(*command: str, **environment: str) -> str:
    """What a program prints. Raises `DemoError` if it fails."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment or None
    )
    out, errors = await process.communicate()
    if process.returncode:
        raise DemoError(f"{' '.join(command)} failed: {errors.decode(errors='replace').strip()}")
    return out.decode()


class DemoError(Failure):
    """The demo could not be set up; the text says what failed, and how."""
