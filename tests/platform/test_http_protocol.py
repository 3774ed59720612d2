"""The bounds of a connection: sizes, deadlines, and how many there may be. What breaks one is answered before any work."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import asyncpg
import msgspec
import pytest

from tests.running import Service, settings_for
from tollhouse.kernel.limits import LINGER_BYTES_MAX, PIPELINED_REQUESTS_MAX, REQUEST_HEADER_BYTES_MAX, REQUEST_HEADERS_MAX
from tollhouse.platform.server.connection_limits import ConnectionLimits

ALIVE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
READY = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
TOKEN = b"POST /api/v2/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
CHUNKED = b"POST /api/v2/oauth/token HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
WITHIN_S = 20
QUICK = {
    "TOLLHOUSE_REQUEST_HEADER_TIMEOUT_S": "0.3",
    "TOLLHOUSE_REQUEST_BODY_TIMEOUT_S": "0.3",
    "TOLLHOUSE_RESPONSE_TIMEOUT_S": "0.5",
}
Make = Callable[..., Service]


class Raw:
    """One connection, byte by byte."""

    def __init__(self, service: Service, address: str = "127.0.0.1") -> None:
        self._port = int(service.url.rpartition(":")[2])
        self._address = address

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", self._port, local_addr=(self._address, 0), limit=1 << 24
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

    async def send(self, data: bytes) -> None:
        """Send this, if the other end still listens."""
        with suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    async def trickle(self, data: bytes, every_s: float) -> None:
        """Send this again and again."""
        while True:
            await self.send(data)
            await asyncio.sleep(every_s)

    async def refused_while_sending(self, data: bytes, code: str, status: int, *, every_s: float = 0.02) -> None:
        """It is refused while it sends this again and again."""
        trickling = asyncio.create_task(self.trickle(data, every_s))
        try:
            await self.refused(code, status)
        finally:
            trickling.cancel()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer: status, headers, body."""
        async with asyncio.timeout(WITHIN_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.splitlines()
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:-1])}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(lines[0].split()[1]), headers, body

    async def refused(self, code: str, status: int) -> dict[str, str]:
        """It is refused with this code, in the one body shape, and the connection ends."""
        found, headers, body = await self.answer()
        reported = msgspec.json.decode(body)
        assert (found, reported["error"]) == (status, code)
        assert reported["error_description"]
        assert reported["request_id"] == headers["x-request-id"]
        assert headers["connection"] == "close"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert await self.rest() == b""
        return headers

    async def rest(self) -> bytes:
        """Everything until the other end closes."""
        async with asyncio.timeout(WITHIN_S):
            try:
                return await self.reader.read(-1)
            except ConnectionError:
                return b""

    async def works(self) -> None:
        """A request on it is answered."""
        await self.send(ALIVE)
        assert (await self.answer())[0] == 200


def with_head_of(size: int) -> bytes:
    """A request whose head has so many bytes."""
    start, end = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"\r\n\r\n"
    return start + b"x" * (size - len(start) - len(end)) + end


async def test_a_head_has_32_kib_at_most(service: Service) -> None:
    async with Raw(service) as most:
        await most.send(with_head_of(REQUEST_HEADER_BYTES_MAX))
        assert (await most.answer())[0] == 200
        await most.send(with_head_of(REQUEST_HEADER_BYTES_MAX))
        assert (await most.answer())[0] == 200
    async with Raw(service) as more:
        await more.send(with_head_of(REQUEST_HEADER_BYTES_MAX + 1))
        await more.refused("request_headers_too_large", 431)


async def test_an_endless_header_ends(service: Service) -> None:
    async with Raw(service) as one:
        await one.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        await one.refused_while_sending(b"x" * 5_000, "request_headers_too_large", 431, every_s=0.002)


async def test_a_head_has_100_headers_at_most(service: Service) -> None:
    for count, status in ((REQUEST_HEADERS_MAX - 1, 200), (REQUEST_HEADERS_MAX, 431)):
        async with Raw(service) as one:
            await one.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * count + b"\r\n")
            assert (await one.answer())[0] == status


async def test_what_is_no_http_is_refused_in_the_one_shape(service: Service) -> None:
    async with Raw(service) as one:
        await one.send(b"nonsense\r\n\r\n")
        await one.refused("invalid_request", 400)


async def test_a_head_has_a_deadline(make_service: Make) -> None:
    async with Raw(make_service(**QUICK)) as one:
        await one.send(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        await one.refused_while_sending(b"x", "request_timeout", 408)


async def test_a_connection_without_a_request_is_closed(make_service: Make) -> None:
    async with Raw(make_service(**QUICK)) as one:
        assert await one.rest() == b""


@pytest.mark.long
async def test_a_connection_without_another_request_is_closed(make_service: Make) -> None:
    service = make_service(TOLLHOUSE_KEEP_ALIVE_TIMEOUT_S="0.3")
    async with Raw(service) as one:
        await one.works()
        assert await one.rest() == b""
    async with Raw(service) as one:
        await one.send(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
        assert (await one.answer())[0] == 404
        await one.send(b"x")
        assert await one.rest() == b""


@pytest.mark.long
async def test_a_connection_with_a_part_of_another_request_is_not_idle(make_service: Make) -> None:
    times = {"TOLLHOUSE_KEEP_ALIVE_TIMEOUT_S": "0.2", "TOLLHOUSE_REQUEST_HEADER_TIMEOUT_S": "0.8"}
    async with Raw(make_service(**times)) as one:
        await one.send(ALIVE + b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        assert (await one.answer())[0] == 200
        await one.refused_while_sending(b"x", "request_timeout", 408)


@pytest.mark.long
async def test_a_body_has_a_deadline(make_service: Make) -> None:
    for head, part in ((TOKEN, b"x"), (CHUNKED, b"1\r\nx\r\n")):
        async with Raw(make_service(**QUICK)) as one:
            await one.send(head)
            await one.refused_while_sending(part, "request_timeout", 408)


async def test_what_follows_an_early_answer_has_a_deadline_too(make_service: Make) -> None:
    async with Raw(make_service(**QUICK)) as one:
        await one.send(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
        assert (await one.answer())[0] == 404
        assert await one.rest() == b""


@pytest.mark.parametrize("name", ["keep-alive", "close"])
async def test_a_client_that_still_sends_reads_its_response(service: Service, name: str) -> None:
    head = f"POST /api/v2/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\nConnection: {name}\r\n\r\n"
    async with Raw(service) as one:
        one.writer.write(head.encode() + b"x" * (LINGER_BYTES_MAX - 100_000))
        status, headers, _ = await one.answer()
        assert (status, headers.get("connection")) == (413, None if name == "keep-alive" else "close")
        one.writer.write(b"x" * 8 * LINGER_BYTES_MAX)
        async with asyncio.timeout(WITHIN_S):
            assert await one.reader.read(-1) == b""


@pytest.mark.long
async def test_a_client_that_does_not_read_is_dropped(make_service: Make) -> None:
    service = make_service(**QUICK)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(one, ("127.0.0.1", int(service.url.rpartition(":")[2])))
        asked = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        await loop.sock_sendall(one, asked * PIPELINED_REQUESTS_MAX)
        async with asyncio.timeout(WITHIN_S):
            while not dropped(one):
                await asyncio.sleep(0.05)


def dropped(one: socket.socket) -> bool:
    """Whether the other end has dropped this connection, seen without reading from it."""
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


async def test_a_new_connection_takes_the_place_of_the_longest_idle(make_service: Make) -> None:
    service = make_service(TOLLHOUSE_CONNECTIONS_MAX="3")
    async with Raw(service) as first, Raw(service) as second, Raw(service) as third:
        for one in (first, second, third):
            await one.works()
        await first.works()
        async with Raw(service) as fourth:
            await fourth.works()
            assert await second.rest() == b""
            await first.works()
            await third.works()


async def test_no_request_that_is_answered_loses_its_place(make_service: Make) -> None:
    service = make_service(TOLLHOUSE_CONNECTIONS_MAX="1")
    connection = await asyncpg.connect(service.dsn)
    try:
        async with connection.transaction(), Raw(service) as first:
            await connection.execute("LOCK TABLE schema_migrations")
            await first.send(READY)
            await waits(connection)
            async with Raw(service) as second:
                assert (await second.refused("temporarily_unavailable", 503))["retry-after"] == "1"
            await connection.execute("ROLLBACK; BEGIN")
            assert (await first.answer())[0] == 200
    finally:
        await connection.close()


async def waits(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Until somebody waits for our lock."""
    async with asyncio.timeout(WITHIN_S):
        while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0.01)


async def test_one_address_has_so_many_connections_at_most(make_service: Make) -> None:
    service = make_service(TOLLHOUSE_CONNECTIONS_PER_ADDRESS_MAX="2", TOLLHOUSE_TRUSTED_PROXIES="none")
    async with Raw(service) as first, Raw(service) as second:
        await first.works()
        await second.works()
        async with Raw(service) as third:
            assert (await third.refused("rate_limited", 429))["retry-after"] == "1"
        async with Raw(service, "127.0.0.2") as neighbour:
            await neighbour.works()
        first.writer.close()
        await first.writer.wait_closed()
        async with asyncio.timeout(WITHIN_S):
            while True:
                async with Raw(service) as again:
                    await again.send(ALIVE)
                    if (await again.answer())[0] == 200:
                        return


async def test_a_trusted_proxy_has_as_many_as_it_needs(make_service: Make) -> None:
    service = make_service(TOLLHOUSE_CONNECTIONS_PER_ADDRESS_MAX="1", TOLLHOUSE_TRUSTED_PROXIES="127.0.0.0/30")
    async with Raw(service) as first, Raw(service) as second:
        await first.works()
        await second.works()


def test_addresses_of_ipv6_count_by_their_network() -> None:
    limits = ConnectionLimits(settings_for("postgresql://nowhere", TOLLHOUSE_TRUSTED_PROXIES="10.0.0.0/8, 2001:db8:1::/48"))
    counted = [limits.counted_as(address) for address in ("2001:db8:2::1", "2001:db8:2::2", "2001:db8:2:1::1")]
    assert counted[0] == counted[1] != counted[2]
    assert limits.counted_as("::ffff:192.0.2.1") == limits.counted_as("192.0.2.1") == "192.0.2.1"
    assert limits.counted_as("10.1.2.3") is limits.counted_as("2001:db8:1::1") is None


async def test_requests_may_come_before_the_answers_to_earlier_ones(service: Service) -> None:
    async with Raw(service) as one:
        await one.send(ALIVE * 3)
        assert [(await one.answer())[0] for _ in range(3)] == [200] * 3
    async with Raw(service) as one:
        await one.send(ALIVE * (PIPELINED_REQUESTS_MAX + 2))
        assert await one.rest() == b""


async def test_a_trailer_is_no_header(service: Service) -> None:
    async with Raw(service) as one:
        await one.send(CHUNKED + b"0\r\nX-Api-Key: th_test_none\r\nX-Other: 1\r\n\r\n")
        status, _, _ = await one.answer()
        assert status in {400, 401, 415}
        await one.works()


async def test_trailers_and_chunk_extensions_end(service: Service) -> None:
    for start, part in ((b"0\r\nX-Long: ", b"x" * 4_000), (b"5", b";x=" + b"y" * 4_000)):
        async with Raw(service) as one:
            await one.send(CHUNKED + start)
            await one.refused_while_sending(part, "invalid_request", 400, every_s=0.002)


async def test_an_upgrade_that_we_do_not_know_is_an_ordinary_request(service: Service) -> None:
    async with Raw(service) as one:
        await one.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert (await one.answer())[0] == 200
        await one.works()


async def test_a_response_is_one_write(service: Service) -> None:
    async with Raw(service) as one:
        await one.send(ALIVE)
        assert (await one.reader.read(1 << 16)).endswith(b'"}')
        await one.send(b"HEAD /signin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in await one.reader.readuntil(b"\r\n\r\n")
        await one.send(b"OPTIONS /api/v2/oauth/token HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"204" in await one.reader.readuntil(b"\r\n\r\n")
        await one.works()
