"""A complete response is one write. What is not one, or not valid, goes the way of uvicorn."""

import asyncio
import logging
from typing import Any, cast

import pytest
from uvicorn.protocols.http.flow_control import FlowControl

from tollhouse.platform.server.cycle import CountedTransport, HttpCycle

LENGTH = (b"content-length", b"2")


class Written(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        """Keep it."""
        self.parts.append(bytes(data))

    def close(self) -> None:
        """Close it."""
        self.closed = True

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self.closed

    def pause_reading(self) -> None:
        """Ignore it."""

    def resume_reading(self) -> None:
        """Ignore it."""


async def respond(*messages: dict[str, Any], method: str = "GET", keep_alive: bool = True) -> Written:
    """What these messages write."""
    written = Written()
    transport = cast("asyncio.Transport", CountedTransport(written))
    cycle = HttpCycle(
        set(),
        scope=cast("Any", {"type": "http", "method": method}),
        transport=transport,
        flow=FlowControl(transport),
        logger=logging.getLogger("test"),
        access_logger=logging.getLogger("test"),
        access_log=False,
        default_headers=[(b"date", b"today")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )
    cycle.more_body = False  # the request is complete
    for message in messages:
        await cycle.send(message)
    assert cycle.response_complete
    return written


def head(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    """The first message of a response."""
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"hi", *, more: bool = False) -> dict[str, Any]:
    """A part of the body."""
    return {"type": "http.response.body", "body": data, "more_body": more}


async def test_a_complete_response_is_one_write() -> None:
    written = await respond(head(LENGTH, (b"x-a", b"b\tc")), body())
    assert written.parts == [b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 2\r\nx-a: b\tc\r\n\r\nhi"]
    assert not written.closed


@pytest.mark.parametrize("header", [None, (b"connection", b"close")])
async def test_the_last_response_of_a_connection_says_so(header: tuple[bytes, bytes] | None) -> None:
    written = await respond(head(LENGTH, *([header] if header else [])), body(), keep_alive=header is not None)
    [sent] = written.parts
    assert sent.count(b"connection: close\r\n") == 1
    assert sent.endswith(b"\r\n\r\nhi")
    assert written.closed


async def test_other_responses() -> None:
    unknown = await respond(head(), body(b"a", more=True), body(b"b"))
    assert b"".join(unknown.parts).endswith(b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n")
    without_body = await respond(head(LENGTH), body(), method="HEAD")
    assert b"".join(without_body.parts).endswith(b"content-length: 2\r\n\r\n")
    empty = await respond(head(status=204), body(b""))
    assert b"".join(empty.parts) == b"HTTP/1.1 204 No Content\r\ndate: today\r\n\r\n"


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0b", b"a\x7fb"])
async def test_no_header_contains_another(value: bytes) -> None:
    with pytest.raises(RuntimeError, match="Invalid HTTP header value"):
        await respond(head(LENGTH, (b"x-a", value)), body())


async def test_a_body_of_another_length_is_refused() -> None:
    for data in (b"h", b"hi!"):
        with pytest.raises(RuntimeError, match="than Content-Length"):
            await respond(head(LENGTH), body(data))
