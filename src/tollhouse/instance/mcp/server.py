"""The server of the Model Context Protocol, by its official SDK: four tools, for one message at a time, without sessions.

Each message is an exchange of its own. What a tool does is a call of the Integration API (`calls.py`).
"""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.responses import Response
from starlette.types import Message

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.request import Request
from tollhouse.instance.mcp import results, tools
from tollhouse.instance.mcp.calls import CallResponse

TOOLS = [
    types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads, destructive_hint=not tool.only_reads, idempotent_hint=True, open_world_hint=False
        ),
    )
    for name, tool in tools.TOOLS.items()
]
NEEDS_CONSENT = frozenset({"missing_scope", "invalid_token"})
"""Errors of a call that become the response to the message: with an access token, the client asks the merchant."""


class MessageExchange:
    """One message and its response."""

    def __init__(self, request: Request, caller: Caller) -> None:
        self._request = request
        self._caller = caller
        self._unauthorized: CallResponse | None = None
        self._failure: Exception | None = None

    async def response(self) -> Response:
        """The response to the message of the request."""
        server: Server[Any] = Server(
            "tollhouse",
            version=version("tollhouse"),
            title="Tollhouse",
            instructions=tools.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        server.middleware.clear()  # it would trace; this service traces its requests itself
        # Nothing outlives the message, so the manager of sessions is of this message too.
        manager = StreamableHTTPSessionManager(app=server, json_response=True, stateless=True)
        answer = await self._send(manager)
        if self._failure is not None:
            raise self._failure
        return answer if self._unauthorized is None else _http_error(self._unauthorized)

    async def _send(self, manager: StreamableHTTPSessionManager) -> Response:
        request = self._request
        raw: list[Message] = [{"type": "http.request", "body": request.raw, "more_body": False}]
        sent: list[Message] = []

        async def receive() -> Message:
            if raw:
                return raw.pop()
            return await request.receive() if request.receive is not None else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": request.method,
            "path": request.path,
            "query_string": b"",
            "headers": request.headers.lines,
        }
        async with manager.run():
            await manager.handle_request(scope, receive, send)
        start, *rest = sent
        response = Response(b"".join(message.get("body", b"") for message in rest), int(start["status"]))
        response.raw_headers += [(name, value) for name, value in start["headers"] if name == b"content-type"]
        return response

    async def _list_tools(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=TOOLS)

    async def _call_tool(
        self, _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool. The tools are: {', '.join(tools.TOOLS)}.")
        try:
            return await self._run(tool.run, params.arguments or {}, tool.arguments)
        except Exception as error:
            self._failure = error
            raise

    async def _run(
        self, run: Callable[[tools.Context, Any], Awaitable[results.Json]], sent: dict[str, Any], kind: type[Any]
    ) -> types.CallToolResult:
        try:
            arguments = msgspec.convert(sent, kind)
            found = await run(tools.Context(self._request, self._caller), arguments)
        except msgspec.ValidationError as error:
            return _result({"error": "invalid_arguments", "error_description": str(error)}, is_error=True)
        except tools.ToolError as error:
            return _result({"error": error.code, "error_description": error.message}, is_error=True)
        except tools.RefusedError as error:
            if self._caller.grant_id is not None and error.shown.get("error") in NEEDS_CONSENT:
                self._unauthorized = error.answer
            return _result(error.shown, is_error=True)
        return _result(found)


def _result(value: results.Json, *, is_error: bool = False) -> types.CallToolResult:
    text = types.TextContent(type="text", text=msgspec.json.encode(value).decode())
    return types.CallToolResult(content=[text], structured_content=value, is_error=is_error)


def _http_error(answer: CallResponse) -> Response:
    challenge = answer.headers.get("www-authenticate")
    headers = {} if challenge is None else {"WWW-Authenticate": challenge}
    return Response(answer.raw, answer.status, headers, "application/json")
