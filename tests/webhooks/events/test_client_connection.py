"""Connections of the way out: which are used again, and what a receiver can make of one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self, cast

import pytest

from tests.running import settings_for
from tests.webhooks.events.harness import eventually
from tests.webhooks.events.raw import LOOPS, RawServer, drips_for_ever, says, stays_silent
from tollhouse.kernel.limits import DELIVERY_ANSWER_BYTES_MAX, DELIVERY_BODY_BYTES_MAX
from tollhouse.platform.outgoing.outbound import Outbound, Outcome

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FORGED = b"HTTP/1.1 500 Forged\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The loop of every platform, and the worker's."""
    return "asyncio", request.param


@pytest.fixture
async def way_out() -> AsyncIterator[Outbound]:
    async with Outbound(settings_for("postgresql:///nowhere"), deadline_s=5) as opened:
        yield opened


class KeepAlive:
    """A server that answers each request with the next of these, the last one for ever, and keeps its connections.

    With `closes` the last answer ends the connection. With `is_early` it answers what it does not read.
    """

    def __init__(self, *answers: bytes, closes: bool = False, is_early: bool = False) -> None:
        self._answers = list(answers)
        self._closes, self.is_early = closes, is_early
        self.open: list[asyncio.Transport] = []
        self.connections = self.requests = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(lambda: _Line(self), "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for transport in self.open:
            transport.abort()
        await asyncio.sleep(0)

    def answer(self, transport: asyncio.Transport) -> None:
        self.requests += 1
        transport.write(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])
        if self._closes and self.requests > 1:
            transport.close()


class _Line(asyncio.Protocol):
    def __init__(self, server: KeepAlive) -> None:
        self._server = server
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.open.append(self._transport)
        self._server.connections += 1

    def data_received(self, data: bytes) -> None:
        self._read += data
        if self._server.is_early:
            self._transport.pause_reading()
            self._server.answer(self._transport)
        elif b"\r\n\r\n{}" in self._read:
            self._read = b""
            self._server.answer(self._transport)


async def post(way_out: Outbound, port: int, **changes: Any) -> Outcome:
    return await way_out.post(f"http://127.0.0.1:{port}/", b"{}", {"X-A": "b"}, **changes)


def beginning(answer: bytes) -> str:
    """The name of a test."""
    return repr(answer[:90])


def after(line: str, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 200 OK\r\n{line}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        after("Content-Length: 0"),
        after("Transfer-Encoding: chunked", b"2\r\nok\r\n0\r\n\r\n"),
        after("Transfer-Encoding: chunked", b"2;a=b\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n"),
        b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + OK,
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        after(f"Content-Length: {DELIVERY_BODY_BYTES_MAX}", b"x" * DELIVERY_BODY_BYTES_MAX),
    ],
    ids=beginning,
)
async def test_a_complete_response_leaves_the_connection_usable(way_out: Outbound, answer: bytes) -> None:
    async with KeepAlive(answer) as server:
        for _ in range(3):
            assert (await post(way_out, server.port)).succeeded
    assert (server.connections, server.requests) == (1, 3)


@pytest.mark.parametrize(
    "answer",
    [
        after("Connection: close\r\nContent-Length: 0"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        OK + FORGED,
        OK + b"HTTP/1.1 2",
        OK + b"\x00\xff garbage",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 45\r\n\r\n" + FORGED,
        after("Transfer-Encoding: chunked", b"2\r\nok\r\nzzz\r\n"),
        after(f"Content-Length: {DELIVERY_BODY_BYTES_MAX + 1}", b"x" * DELIVERY_BODY_BYTES_MAX),
        after("Content-Length: 99999", b"x" * 20_000),
        after("Content-Length: 40000", b"x" * 40_000),
    ],
    ids=beginning,
)
async def test_a_response_with_an_unclear_end_ends_its_connection(way_out: Outbound, answer: bytes) -> None:
    async with KeepAlive(answer, OK) as server:
        first, second = await post(way_out, server.port), await post(way_out, server.port)
    assert (first.http_status, second.http_status) == (int(answer[9:12]), 200)
    assert (server.connections, server.requests) == (2, 2)


async def test_a_response_until_the_end_of_the_connection(way_out: Outbound) -> None:
    async with RawServer(says(after("X: y", b"until the end"))) as server:
        outcome = await post(way_out, server.port, kept_bytes=100)
    assert (outcome.error, outcome.body) == (None, b"until the end")
    assert not way_out.connections.open


async def test_a_protocol_is_never_switched(way_out: Outbound) -> None:
    async with KeepAlive(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + OK) as server:
        assert (await post(way_out, server.port)).error == "http_101"
        await eventually(lambda: asyncio.sleep(0, not way_out.connections.open))


async def test_what_arrives_unasked_is_no_response(way_out: Outbound) -> None:
    """An answer that is sent ahead of the next request ends the connection."""

    async def answers_twice(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await writer.drain()
        await first_came.wait()
        writer.write(FORGED)
        await asyncio.Event().wait()

    first_came = asyncio.Event()
    async with RawServer(answers_twice) as server:
        assert (await post(way_out, server.port)).succeeded
        first_came.set()
        await eventually(lambda: asyncio.sleep(0, not way_out.connections.open))
        assert (await post(way_out, server.port)).http_status == 200
    assert len(server.peers) == 2


async def test_an_answer_before_the_request_was_read_ends_the_connection(way_out: Outbound) -> None:
    async with KeepAlive(OK, is_early=True) as server:
        outcome = await way_out.post(f"http://127.0.0.1:{server.port}/", b"x" * 16 * 1024 * 1024, {})
        assert outcome.succeeded
        await eventually(lambda: asyncio.sleep(0, not way_out.connections.open))


@pytest.mark.parametrize("part", [b"H", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
async def test_a_kept_connection_that_began_to_answer_is_not_replaced(way_out: Outbound, part: bytes) -> None:
    """The request may have been acted on: whoever answered it at all gets it again by the schedule only."""
    async with KeepAlive(OK, part, closes=True) as server:
        assert (await post(way_out, server.port)).succeeded
        assert (await post(way_out, server.port)).error == "connection_reset"
    assert server.requests == 2


@pytest.mark.parametrize(
    "answer",
    [
        after("Transfer-Encoding: chunked\r\nContent-Length: 2", b"0\r\n\r\n"),
        after("Content-Length: 2\r\nContent-Length: 3", b"ok"),
        after("Content-Length: 2, 2", b"ok"),
        after("Content-Length: 99999999999999999999999"),
        b"HTTP/1.1 1000 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\nnonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(9_999)),
    ],
    ids=beginning,
)
async def test_no_response_is_made_of_what_can_be_read_in_two_ways(way_out: Outbound, answer: bytes) -> None:
    async with RawServer(says(answer)) as server:
        assert (await post(way_out, server.port)).error == "bad_response"
    assert len(server.requests) == 1


async def test_interim_responses_are_counted_with_the_final_one(way_out: Outbound) -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
    fitting = hint * ((DELIVERY_ANSWER_BYTES_MAX - len(OK)) // len(hint))
    async with KeepAlive(fitting + OK, fitting + hint * 2 + OK) as server:
        assert [(await post(way_out, server.port)).error for _ in range(2)] == [None, "bad_response"]


async def test_headers_of_interim_responses_and_trailers_are_not_kept(way_out: Outbound) -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nX-Hint: 1\r\n\r\n" + after(
        "X-Head: 2\r\nTransfer-Encoding: chunked", b"2\r\nok\r\n0\r\nX-Trailer: 3\r\n\r\n"
    )
    async with RawServer(says(*(bytes([byte]) for byte in answer))) as server:
        outcome = await post(way_out, server.port, kept_bytes=1)
    assert outcome.headers == (("X-Head", "2"), ("Transfer-Encoding", "chunked"))
    assert outcome.body == b"o"


@pytest.mark.parametrize("value", ["a\r\nX-Forged: 1", "a\nb", "a\x00b", "a\x85b", "ä"])
async def test_a_header_cannot_contain_another(way_out: Outbound, value: str) -> None:
    async with KeepAlive(OK) as server:
        outcome = await way_out.post(f"http://127.0.0.1:{server.port}/", b"{}", {"X-A": value})
    assert outcome.error == "bad_response"
    assert not server.connections


@pytest.mark.parametrize("manners", [stays_silent, drips_for_ever])
async def test_the_deadline_closes_the_connection(manners: Any) -> None:
    async with RawServer(manners) as server, Outbound(settings_for("postgresql:///nowhere"), deadline_s=0.2) as way_out:
        await post(way_out, server.port)
        await eventually(lambda: asyncio.sleep(0, not way_out.connections.open))


async def test_an_idle_connection_is_closed_in_time(way_out: Outbound, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollhouse.platform.outgoing.client_connection.IDLE_TIMEOUT_S", 0.01)
    monkeypatch.setattr("tollhouse.platform.outgoing.client_connection.REAP_EVERY_S", 0.01)
    async with KeepAlive(OK) as server:
        assert (await post(way_out, server.port)).succeeded
        await eventually(lambda: asyncio.sleep(0, not way_out.connections.open))


async def test_of_too_many_idle_connections_the_oldest_is_closed(way_out: Outbound, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollhouse.platform.outgoing.client_connection.IDLE_CONNECTIONS_MAX", 1)
    async with KeepAlive(OK) as one, KeepAlive(OK) as other:
        for server in (one, other, other, one):
            assert (await post(way_out, server.port)).succeeded
    assert (one.connections, other.connections) == (2, 1)
