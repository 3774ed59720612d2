"""Programs of Node that use the SDK, driven by tests."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from tests.cast import Actor, Application

NODE = Path(__file__).parent / "node"
WITHIN_S = 120
PIPE = asyncio.subprocess.PIPE


class Program(Protocol):
    """A process whose output is read."""

    stdout: asyncio.StreamReader
    returncode: int | None

    async def communicate(self) -> tuple[bytes, bytes]:
        """Wait for its end: what it printed."""
        ...

    async def wait(self) -> int:
        """Wait for its end."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


async def run(script: str, **scenario: Any) -> str:
    """Run a script in Node to its end: what it printed."""
    return await run_in(("node", NODE / script), **scenario)


async def run_in(command: Sequence[str | Path], **scenario: Any) -> str:
    """Run a command to its end: what it printed. It gets the scenario as JSON."""
    program = await _start(command, PIPE, scenario)
    printed, failed = await asyncio.wait_for(program.communicate(), WITHIN_S)
    assert program.returncode == 0, failed.decode()[-4000:]
    return printed.decode()


async def start(script: str, **scenario: Any) -> Program:
    """Start a script in Node."""
    return await _start(("node", NODE / script), None, scenario)


async def _start(command: Sequence[str | Path], stderr: int | None, scenario: dict[str, Any]) -> Program:
    environment = {**os.environ, "SCENARIO": msgspec.json.encode(scenario).decode()}
    return cast("Program", await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE, stderr=stderr))


async def stop(program: Program) -> None:
    """Kill it, and wait for its end."""
    if program.returncode is None:
        program.kill()
    await program.communicate()


async def connected(app: Application, merchant: Actor, scope: str) -> dict[str, Any]:
    """The application as the SDK is told of it, and tokens of a connection, as it stores them."""
    tokens = await app.connect(merchant, scope)
    stored = {"access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"], "scope": tokens["scope"]}
    return {"application": {"clientId": app.client_id, "clientSecret": app.client_secret}, "tokens": stored}
