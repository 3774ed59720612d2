"""Calls of the Integration API for the caller of an MCP request: in this process, through the whole application.

A call has the credential of its caller and passes the same guards, limits, idempotency and logs as a request that comes over
the network.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.types import Message

from tollhouse.http.request import ENTRY, Request

CREDENTIALS = ("authorization", "x-api-key")
JSON = b"application/json"


class CallResponse(Struct, frozen=True):
    """The response of a call."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The decoded body; empty without one. Every body of the API is an object."""
        return msgspec.json.decode(self.raw, type=dict[str, Any]) if self.raw else {}


async def call(
    entry: Request,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    idempotency_key: str | None = None,
) -> CallResponse:
    """Send a request to this application for the caller of `entry`."""
    headers = [(name.encode(), value.encode("latin-1")) for name in CREDENTIALS for value in entry.headers.getlist(name)]
    headers += [(b"accept", JSON), (b"x-request-id", entry.request_id.encode())]
    if idempotency_key is not None:
        headers.append((b"idempotency-key", idempotency_key.encode()))
    raw = b""
    if body is not None:
        raw = json.dumps(body).encode()  # of any number: the operation says what is wrong with it
        headers.append((b"content-type", JSON))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": urlencode(_spelled(query or {}), doseq=True).encode(),
        "headers": headers,
        "client": (entry.address, 0),
        ENTRY: entry,
    }
    return await _send(entry, scope, raw)


async def _send(entry: Request, scope: dict[str, Any], raw: bytes) -> CallResponse:
    to_receive: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if to_receive:
            return to_receive.pop()
        return await entry.receive() if entry.receive is not None else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        if entry.application is None:
            raise TypeError("a request of no application makes no calls")
        await entry.application(scope, receive, send)

    await asyncio.create_task(run())  # a task has variables of its own, such as the request ID of log lines
    start, *rest = sent
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return CallResponse(start["status"], headers, b"".join(message.get("body", b"") for message in rest))


def _spelled(query: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a query spells them. None is left out."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items() if value is not None
    }
