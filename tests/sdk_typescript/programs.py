"""Programs of Node that use the SDK, driven by tests."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec

from tests.cast import Actor, Application

NODE = Path(__file__).parent / "node"
WITHIN_S = 120


async def run(script: str, **scenario: Any) -> str:
    """Run a script to its end: what it printed. It gets the scenario as JSON."""
    environment = {**os.environ, "SCENARIO": msgspec.json.encode(scenario).decode()}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("node", NODE / script, env=environment, stdout=pipe, stderr=pipe)
    printed, failed = await asyncio.wait_for(process.communicate(), WITHIN_S)
    assert process.returncode == 0, failed.decode()[-4000:]
    return printed.decode()


async def connected(app: Application, merchant: Actor, scope: str) -> dict[str, Any]:
    """The application as the SDK is told of it, and tokens of a connection, as it stores them."""
    tokens = await app.connect(merchant, scope)
    stored = {"access_token": tokens["access_token"], "refresh_token": tokens["refresh_token"], "scope": tokens["scope"]}
    return {"application": {"clientId": app.client_id, "clientSecret": app.client_secret}, "tokens": stored}
