"""What is measured: opening a payment link with a key, and capturing a payment; of a thousand merchants, and of one."""

from typing import Any
from uuid import UUID

import asyncpg

from benchmarks.harness.operations import Operation
from benchmarks.harness.requests import CAPTURE, LINKS, PAYMENT, Wire, numbered
from benchmarks.harness.watch import Watched
from benchmarks.money import seed
from benchmarks.money.seed import LINK_BODY, MERCHANTS, Shop

CAPTURED = "SELECT count(*) FROM transactions WHERE status = 'succeeded'"
OPENED = "SELECT count(*) FROM payment_links"
CAPTURE_BODY = '{"outcome":"succeed"}'


class Market:
    """The merchants, and numbers that no request has used."""

    def __init__(self, connection: "asyncpg.Connection[Any]", shops: list[Shop], pattern: UUID) -> None:
        self._connection, self._shops, self._pattern = connection, shops, pattern
        self._next = 0

    async def links(self, _party: str, count: int) -> list[str]:
        """API keys, each with an Idempotency-Key; merchants take turns."""
        return [f"{self._shop(n).api_key}\r\nIdempotency-Key: order-{n:012d}" for n in self._numbers(count)]

    async def payments(self, _party: str, count: int) -> list[str]:
        """Payments that wait; merchants take turns."""
        return await self._payments(self._numbers(count), self._shops)

    async def hot_payments(self, _party: str, count: int) -> list[str]:
        """Payments that wait, all of one merchant."""
        return await self._payments(self._numbers(count), self._shops[:1])

    async def _payments(self, numbers: range, shops: list[Shop]) -> list[str]:
        await seed.payments(self._connection, self._pattern, [shop.merchant_id for shop in shops], numbers)
        keys = (shops[number % len(shops)].api_key for number in numbers)
        line = "simulate HTTP/1.1\r\nX-API-Key:"
        return [f"{numbered(PAYMENT, number)}/{line} {key}" for number, key in zip(numbers, keys, strict=True)]

    def _numbers(self, count: int) -> range:
        """The next ones, beginning at a whole thousand, so that merchants take turns from the first."""
        begin = self._next
        self._next += -(-count // MERCHANTS) * MERCHANTS
        return range(begin, begin + count)

    def _shop(self, number: int) -> Shop:
        return self._shops[number % len(self._shops)]


async def operations(connection: "asyncpg.Connection[Any]", watched: Watched) -> tuple[list[Operation], dict[str, UUID]]:
    """The operations, on data of their own, and the merchants by API key."""
    shops = await seed.harness(connection)
    await seed.pattern(watched, shops[0])  # links and the first transaction: nothing after is the first
    market = Market(connection, shops, await seed.pattern(watched, shops[0]))
    link, capture = f"POST {LINKS} HTTP/1.1\r\nX-API-Key: ", f"POST {CAPTURE}"
    found = [
        Operation(
            "payment link", "link", "≥ 0.75", Wire(link, body(LINK_BODY)), market.links,
            once=True, done=OPENED, owners=MERCHANTS,
        ),
        Operation(
            "capture, spread", "capture", "≥ 0.80, ≥ thrice others", Wire(capture, body(CAPTURE_BODY)), market.payments,
            once=True, done=CAPTURED, owners=MERCHANTS,
        ),
        Operation(
            "capture, one merchant", "capture", "≥ thrice others, rate ≥ spread",
            Wire(capture, body(CAPTURE_BODY)), market.hot_payments,
            once=True, done=CAPTURED, owners=MERCHANTS,
        ),
    ]  # fmt: skip
    return found, {shop.api_key: shop.merchant_id for shop in shops}


def body(text: str) -> str:
    """The end of a request with a JSON body."""
    head = "Host: 127.0.0.1\r\nUser-Agent: load\r\nAccept: */*\r\nContent-Type: application/json\r\n"
    return f"\r\n{head}Content-Length: {len(text)}\r\n\r\n{text}"
