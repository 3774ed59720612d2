"""The way out, against receivers that misbehave."""

import asyncio
import gzip
import ipaddress
import resource
import socket
import struct
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import self_signed
from tests.receiver import Receiver
from tests.running import settings_for
from tests.webhooks.events.raw import LOOPS, RawServer, drips_for_ever, says, stays_silent
from tollhouse.kernel import clock
from tollhouse.platform.outgoing import targets
from tollhouse.platform.outgoing.outbound import Outbound, Outcome

BODY = b'{"a":1}'
HEADERS = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Tollhouse-Webhooks/2", "X-Service-Mode": "test"}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ALLOWED = "127.0.0.0/8"


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The loop of every platform, and the worker's."""
    return "asyncio", request.param


async def post(port: int, path: str = "/hook", *, scheme: str = "http", host: str = "127.0.0.1", **changes: Any) -> Outcome:
    """One call with fresh settings."""
    deadline_s, look_up = changes.pop("deadline_s", 5), changes.pop("look_up", socket.getaddrinfo)
    changed: dict[str, Any] = {"TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": ALLOWED, **changes}
    async with Outbound(settings_for("postgresql:///nowhere", **changed), deadline_s=deadline_s, look_up=look_up) as way_out:
        return await way_out.post(f"{scheme}://{host}:{port}{path}", BODY, HEADERS)


def status(code: int, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {code} X", *lines, "Content-Length: 0", "", ""]).encode()


@pytest.mark.covers("W-14", "W-16", "W-25", "W-38")
async def test_the_request_on_the_wire() -> None:
    async with RawServer(says(OK)) as server:
        outcome = await post(server.port, "/a/../%7e//b?x=%2F&y&z=%c3%a9")
    assert outcome.succeeded
    assert outcome.http_status == 200
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /a/../%7e//b?x=%2F&y&z=%c3%a9 HTTP/1.1"
    assert body == BODY
    names = {line.partition(":")[0].lower() for line in lines[1:]}
    assert names == {"host", "accept", "content-type", "content-length", "user-agent", "x-service-mode"}
    assert "Accept: */*" in lines
    assert f"Content-Length: {len(BODY)}" in lines


@pytest.mark.parametrize("path", ["/hook?", "/?", "/hook??", "/hook?a=1&", "/a%20b", "/a;b=c?d"])
async def test_path_and_query_go_out_byte_for_byte(path: str) -> None:
    async with RawServer(says(OK)) as server:
        assert (await post(server.port, path)).succeeded
    assert server.requests[0].startswith(f"POST {path} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_reset_right_on_accept(scheme: str) -> None:
    """Whether it arrives while connecting, during the handshake or with the request: somebody was there, and hung up."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        async def hang_up() -> None:
            while True:
                line, _ = await asyncio.get_running_loop().sock_accept(server)
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.close()

        hanging_up = asyncio.create_task(hang_up())
        assert (await post(server.getsockname()[1], scheme=scheme)).error == "connection_reset"
        hanging_up.cancel()
        with suppress(asyncio.CancelledError):
            await hanging_up


@pytest.mark.covers("W-29", "W-30")
@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
async def test_every_2xx_is_success(code: int) -> None:
    async with RawServer(says(status(code))) as server:
        assert await post(server.port) == Outcome(None, code, pytest.approx(0, abs=5000))  # pyright: ignore[reportArgumentType]


@pytest.mark.covers("W-30", "W-31")
@pytest.mark.parametrize("code", [300, 304, 400, 401, 404, 410, 429, 500, 503, 599])
async def test_everything_else_is_a_failure(code: int) -> None:
    async with RawServer(says(status(code))) as server:
        outcome = await post(server.port)
    assert (outcome.error, outcome.http_status) == (f"http_{code}", code)


@pytest.mark.covers("W-30")
async def test_interim_answers_are_waited_out() -> None:
    async with RawServer(says(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", OK)) as server:
        assert (await post(server.port)).succeeded


@pytest.mark.covers("W-30", "W-62")
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(code: int, receiver: Receiver) -> None:
    async with RawServer(says(status(code, f"Location: {receiver.url}"))) as server:
        outcome = await post(server.port)
    assert (outcome.error, outcome.http_status) == ("redirect_not_followed", code)
    assert not receiver.received


@pytest.mark.covers("W-24")
async def test_cookies_are_not_kept() -> None:
    async with (
        RawServer(says(status(200, "Set-Cookie: a=b; Path=/"))) as server,
        Outbound(settings_for("postgresql:///nowhere")) as way_out,
    ):
        for _ in range(2):
            await way_out.post(f"http://localhost:{server.port}/", BODY, HEADERS)
    assert len(server.requests) == 2
    assert all(b"cookie" not in request.lower() for request in server.requests)


@pytest.mark.covers("W-34")
async def test_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        assert (await post(probe.getsockname()[1])).error == "connection_refused"


@pytest.mark.covers("W-34", "W-39")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", "connection_reset"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "bad_response"),
        (b"HTTP/1.1 two hundred\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 200 OK\r\nX\x00Y: 1\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "bad_response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "bad_response"),
        (b"\x16\x03\x01\x00\x00", "bad_response"),
    ],
)
async def test_nonsense_is_a_failure(answer: bytes, error: str) -> None:
    async with RawServer(says(answer)) as server:
        assert (await post(server.port)).error == error


async def test_a_reason_that_is_no_text_does_not_matter() -> None:
    async with RawServer(says(b"HTTP/1.1 200 \xff\xfe\x80\r\nContent-Length: 0\r\n\r\n")) as server:
        assert (await post(server.port)).succeeded


@pytest.mark.covers("W-34")
async def test_a_reset_connection() -> None:
    async def reset(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        writer.transport.abort()

    async with RawServer(reset) as server:
        assert (await post(server.port)).error == "connection_reset"


@pytest.mark.covers("W-35")
async def test_silence_ends_at_the_deadline() -> None:
    async with RawServer(stays_silent) as server:
        outcome = await post(server.port, deadline_s=0.4)
    assert outcome.error == "timeout"
    assert 399 <= outcome.duration_ms < 900  # uvloop counts in whole milliseconds


@pytest.mark.covers("W-36")
async def test_a_head_in_drips_ends_at_the_deadline() -> None:
    async with RawServer(says(*(bytes([byte]) for byte in OK), pause_s=0.05)) as server:
        outcome = await post(server.port, deadline_s=0.4)
    assert outcome.error == "timeout"
    assert outcome.duration_ms < 900


@pytest.mark.covers("W-36")
async def test_a_complete_head_is_success_though_the_body_drips_for_ever() -> None:
    async with RawServer(drips_for_ever) as server:
        outcome = await post(server.port, deadline_s=0.4)
    assert outcome.succeeded
    assert 399 <= outcome.duration_ms < 900  # uvloop counts in whole milliseconds


async def test_a_complete_head_is_success_though_the_body_is_cut() -> None:
    async with RawServer(says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")) as server:
        assert (await post(server.port)).succeeded


@pytest.mark.covers("W-37")
async def test_of_an_endless_body_little_is_read() -> None:
    sent = 0

    async def floods(_request: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with RawServer(floods) as server:
        outcome = await post(server.port)
    assert outcome.succeeded
    assert sent < 16 * 1024 * 1024  # what fits the two sockets and their buffers, not the gigabyte
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


@pytest.mark.covers("W-38")
async def test_a_compressed_body_is_not_inflated() -> None:
    bomb = gzip.compress(b"0" * 50_000_000, 9)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with RawServer(says(head + bomb)) as server:
        assert (await post(server.port)).succeeded
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


async def answers_and_leaves(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer as if the connection stayed open, and close it without a word when the next request comes."""
    writer.write(OK)
    await writer.drain()
    with suppress(TimeoutError):
        await asyncio.wait_for(_next_request(writer), 1)


async def _next_request(writer: asyncio.StreamWriter) -> None:
    protocol: Any = writer.transport.get_protocol()
    await protocol._stream_reader.read(1)


async def test_a_clean_connection_serves_the_next_call(receiver: Receiver) -> None:
    async with Outbound(settings_for("postgresql:///nowhere")) as way_out:
        for _ in range(3):
            assert (await way_out.post(receiver.url, BODY, HEADERS)).succeeded
        assert len(way_out.connections.open) == 1


@pytest.mark.covers("W-40")
async def test_a_kept_connection_that_is_closed_costs_no_attempt() -> None:
    async with RawServer(answers_and_leaves) as server, Outbound(settings_for("postgresql:///nowhere")) as way_out:
        for _ in range(3):
            assert (await way_out.post(f"http://127.0.0.1:{server.port}/", BODY, HEADERS)).succeeded
    assert len(server.requests) == 3
    assert len(server.peers) == 3


async def test_a_new_connection_that_is_closed_is_the_answer() -> None:
    async with RawServer(says(b"")) as server, Outbound(settings_for("postgresql:///nowhere")) as way_out:
        for _ in range(2):
            assert (await way_out.post(f"http://127.0.0.1:{server.port}/", BODY, HEADERS)).error == "connection_reset"
    assert len(server.requests) == 2


async def test_of_many_connections_none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollhouse.platform.outgoing.client_connection.IDLE_CONNECTIONS_MAX", 0)
    async with RawServer(answers_and_leaves) as server, Outbound(settings_for("postgresql:///nowhere")) as way_out:
        for _ in range(3):
            assert (await way_out.post(f"http://127.0.0.1:{server.port}/", BODY, HEADERS)).succeeded
    assert len(server.peers) == 3


@pytest.mark.covers("W-32", "W-33")
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("1000000000000", None),
        ("999999999", None),
        ("-5", None),
        ("soon", None),
        ("1.5", None),
        ("", None),
    ],
)
async def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    async with RawServer(says(status(503, f"Retry-After: {header}"))) as server:
        assert (await post(server.port)).retry_after_s == seconds


async def test_retry_after_as_a_date() -> None:
    date = (clock.now() + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    async with RawServer(says(status(429, f"Retry-After: {date}"))) as server:
        wait_s = (await post(server.port)).retry_after_s
    assert wait_s == pytest.approx(90, abs=3)


@pytest.mark.covers("W-26")
async def test_calls_come_from_the_source_address() -> None:
    async with RawServer(says(OK)) as server:
        assert (await post(server.port, TOLLHOUSE_WEBHOOK_SOURCE_IP="127.0.0.2")).succeeded
    assert server.peers == ["127.0.0.2"]


async def test_a_source_address_of_another_host_is_reported_at_the_start() -> None:
    with pytest.raises(OSError, match="assign"):
        await post(80, TOLLHOUSE_WEBHOOK_SOURCE_IP="8.8.8.8")


@pytest.mark.covers("W-59", "W-60", "W-61", "W-63", "S-57")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1.", "LocalHost."])
async def test_blocked_addresses_get_no_packet(host: str) -> None:
    async with RawServer(says(OK)) as server:
        open_port = await post(server.port, host=host, TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="")
    closed_port = await post(server.port, host=host, TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="")
    assert open_port.error == closed_port.error == "blocked_destination"
    assert not server.peers


@pytest.mark.covers("W-64")
async def test_the_ingress_is_never_called_though_its_network_is_allowed() -> None:
    async with RawServer(says(OK)) as server:
        assert (await post(server.port, TOLLHOUSE_INGRESS_IP="127.0.0.1")).error == "blocked_destination"
        assert (await post(server.port, host="localhost", TOLLHOUSE_INGRESS_IP="127.0.0.1")).error == "blocked_destination"
    assert not server.peers


@pytest.mark.covers("W-60", "W-61")
@pytest.mark.parametrize("responses", [["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"], ["127.0.0.1"]])
async def test_one_blocked_address_refuses_the_whole_name(responses: list[str]) -> None:
    asked: list[str] = []

    def names(host: str, port: int, family: int, kind: int) -> list[Any]:
        asked.append(host)
        assert family == socket.AF_INET
        return [(family, kind, 6, "", (address, port)) for address in responses]

    async with RawServer(says(OK)) as server:
        outcome = await post(server.port, host="rebound.example.com", look_up=names, TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="")
    assert outcome.error == "blocked_destination"
    assert asked == ["rebound.example.com"]
    assert not server.peers


@pytest.mark.covers("W-27", "W-34")
async def test_a_name_without_an_ipv4_address() -> None:
    def nothing(*_: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    assert (await post(8080, host="nowhere.example.com", look_up=nothing)).error == "dns_error"


def test_addresses_of_this_host_are_known_without_a_packet() -> None:
    assert targets.is_this_host(ipaddress.IPv4Address("127.0.0.1"))
    assert not targets.is_this_host(ipaddress.IPv4Address("93.184.216.34"))


@pytest.mark.covers("W-3", "W-34")
async def test_certificates_are_verified(tmp_path: Path) -> None:
    tls, ca_file = self_signed(tmp_path, "127.0.0.1")
    async with RawServer(says(OK), tls) as server:
        assert (await post(server.port, scheme="https")).error == "tls_error"
        assert (await post(server.port, scheme="https", TOLLHOUSE_WEBHOOK_CA_FILE=str(ca_file))).succeeded
        other_name = await post(server.port, scheme="https", host="localhost", TOLLHOUSE_WEBHOOK_CA_FILE=str(ca_file))
        assert other_name.error == "tls_error"
