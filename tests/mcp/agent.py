"""An agent: messages to `/mcp` over HTTP, as a client of the Model Context Protocol sends them."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.cast import Actor, Answer, Application

VERSION = "2026-07-28"
ACCEPT = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
NUMBERS = count(1)


@dataclass
class Result:
    """What a tool returned."""

    answer: Answer

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
        return self.answer.ok().body["result"].get("isError", False)

    @property
    def content(self) -> Any:
        """The structured content."""
        return self.answer.ok().body["result"]["structuredContent"]

    @property
    def data(self) -> Any:
        """The data of a success."""
        assert not self.is_error, self.content
        return self.content["data"]

    def refused(self, code: str) -> "Result":
        """The tool failed with this code."""
        assert self.is_error, self.content
        assert self.content["error"] == code, self.content
        return self


@dataclass
class Agent:
    """A client with a credential."""

    actor: Actor
    credential: dict[str, str]
    headers: dict[str, str] = field(default_factory=dict)

    async def message(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Answer:
        """Send a message; the headers of the protocol are those of the message unless others are given."""
        sent = {"jsonrpc": "2.0", "id": next(NUMBERS), "method": method, "params": {"_meta": META, **(params or {})}}
        usual = {"Accept": ACCEPT, "MCP-Protocol-Version": VERSION, "Mcp-Method": method}
        if "name" in (params or {}):
            usual["Mcp-Name"] = str((params or {})["name"])
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.actor.anonymously("POST", "/mcp", sent, usual | self.credential | self.headers | named)

    async def tool(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool."""
        return Result(await self.message("tools/call", {"name": name, "arguments": arguments}))

    async def read(self, operation: str, /, cursor: str = "", **parameters: Any) -> Result:
        """Call an operation that reads."""
        return await self.tool("read", operation=operation, parameters=parameters, cursor=cursor)


async def with_key(actor: Actor, *scopes: str, mode: str = "test") -> Agent:
    """An agent with an API key."""
    return Agent(actor, {"X-API-Key": await actor.key(mode, list(scopes) or None)})


async def with_token(app: Application, merchant: Actor, scope: str, **changes: str) -> Agent:
    """An agent with a connection for `/mcp`."""
    tokens = await app.connect(merchant, scope, resource=f"{merchant.service.url}/mcp", **changes)
    return Agent(merchant, {"Authorization": f"Bearer {tokens['access_token']}"})
