"""One way to drive every client: discover, authorize, exchange, refresh, revoke; some can do more."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

NODE = Path(__file__).parent / "node"
CALLBACK = "https://app.example/callback"
Method = Literal["basic", "body", "keys", "none"]


class Registration(NamedTuple):
    """What a developer copies from the dashboard, and how the client is to authenticate."""

    issuer: str
    client_id: str
    client_secret: str | None
    method: Method
    redirect_uri: str = CALLBACK
    key: dict[str, Any] | None = None
    """The private key of one that authenticates by keys."""
    extras: bool = False
    """Whether the client uses what an application may choose: a resource, pushed requests, tokens bound to a key."""


class RefusedError(Exception):
    """The client says that the service refused; `code` is the OAuth error, as far as the client tells it."""

    def __init__(self, code: str | None, reported: str) -> None:
        self.code = code
        super().__init__(reported)


class Client(Protocol):
    """A client that somebody else wrote. Tokens are told as the service names them."""

    async def discover(self, registration: Registration) -> str:
        """Read the metadata: the issuer in it."""
        ...

    async def authorize(self, scope: str, details: str = "") -> str:
        """The address that a merchant's browser is sent to, for the test environment."""
        ...

    async def exchange(self, callback: str) -> dict[str, Any]:
        """The tokens for what came back. Raises `RefusedError`."""
        ...

    async def refresh(self) -> dict[str, Any]:
        """The next tokens. Raises `RefusedError`."""
        ...

    async def revoke(self) -> None:
        """Give the connection back. Raises `RefusedError`."""
        ...


class ClientWithExtras(Client, Protocol):
    """A client that can do more than the usual."""

    async def read(self, url: str) -> dict[str, Any]:
        """What is at this address of the API, for the last access token."""
        ...

    async def start(self, scope: str, details: str = "") -> dict[str, Any]:
        """The codes of a device."""
        ...

    async def poll(self) -> dict[str, Any]:
        """The tokens of the device. Raises `RefusedError`."""
        ...

    async def introspect(self) -> dict[str, Any]:
        """What the service says of the last access token."""
        ...


class NodeClient:
    """A client from npm: a module of ours drives it in a process of its own, a line for each step."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def discover(self, registration: Registration) -> str:
        """As the protocol says."""
        return await self._do("discover", **registration._asdict())

    async def authorize(self, scope: str, details: str = "") -> str:
        """As the protocol says."""
        return await self._do("authorize", scope=scope, details=details)

    async def exchange(self, callback: str) -> dict[str, Any]:
        """As the protocol says."""
        return await self._do("exchange", url=callback)

    async def refresh(self) -> dict[str, Any]:
        """As the protocol says."""
        return await self._do("refresh")

    async def read(self, url: str) -> dict[str, Any]:
        """As the protocol says."""
        return await self._do("read", url=url)

    async def start(self, scope: str, details: str = "") -> dict[str, Any]:
        """As the protocol says."""
        return await self._do("start", scope=scope, details=details)

    async def poll(self) -> dict[str, Any]:
        """As the protocol says."""
        return await self._do("poll")

    async def introspect(self) -> dict[str, Any]:
        """As the protocol says."""
        return await self._do("introspect")

    async def revoke(self) -> None:
        """As the protocol says."""
        await self._do("revoke")

    async def _do(self, step: str, **given: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"step": step, **given}).encode() + b"\n")
        await stdin.drain()
        line = await asyncio.wait_for(stdout.readline(), 30)
        assert line, "the driver ended; its standard error says why"
        answer = json.loads(line)
        if "failed" in answer:
            raise RefusedError(answer["error"], answer["failed"])
        return answer["done"]


@asynccontextmanager
async def node_client(name: str) -> AsyncIterator[NodeClient]:
    """The client that `node/<name>.mjs` drives."""
    process = await asyncio.create_subprocess_exec(
        "node", "drive.mjs", name, cwd=NODE, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield NodeClient(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
