"""Watching the product: one request of each action, in this process, with an ear at its connections."""

import logging
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import structlog
from msgspec import Struct

from benchmarks.money.actions import CAPTURE, LINK, PATHS, Action
from benchmarks.money.seed import Shop
from benchmarks.money.trace import Ear, Trace, understand
from tollhouse import main
from tollhouse.http.asgi import AsgiApplication
from tollhouse.kernel import clock, tokens
from tollhouse.platform import config

KEY = "the-key-of-the-request-that-is-watched"
HOST = b"localhost:8000"
"""Of the default base URL: pages answer at their own host only."""


class Watched(Struct):
    """What each action says, and a payment that waits, as a pattern for more."""

    traces: dict[Action, Trace]
    waiting: UUID | None = None


async def watch(
    connection: "asyncpg.Connection[Any]", actions: Sequence[Action], dsn: str, secret_keys: str, shop: Shop
) -> Watched:
    """Do everything once, so that nothing is the first time; then once more, and listen."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    services = main.create_services(config.load({"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": secret_keys}))
    shopper, ear, watched = Shopper(main.build(services), shop), Ear(), Watched({})
    known: dict[Any, str] = {shop.merchant_id: "merchant_id", tokens.digest(shop.api_key): "api_key_hash"}

    async def hear(action: Action, doing: Awaitable[bytes], status: int, names: dict[Any, str]) -> None:
        begun, now = len(ear.heard), clock.now()
        answer = await doing
        statements = await understand(connection, ear.heard[begun:], known | names, now)
        watched.traces[action] = Trace(statements, status, answer)

    with ear.listening():
        await shopper.link()
        if "link" in actions:
            await hear("link", shopper.link(KEY), 201, {tokens.digest(KEY): "key_hash"})
        if "capture" in actions:
            await shopper.capture(await shopper.waiting())
            paid = await shopper.waiting()
            link_id = await connection.fetchval("SELECT payment_link_id FROM transactions WHERE id = $1", paid)
            await hear(
                "capture", shopper.capture(paid), 200, {paid: "payment_id", str(paid): "payment_name", link_id: "link_id"}
            )
            watched.waiting = await shopper.waiting()
    await services.db.close()
    return watched


class Shopper:
    """Asks the product in this process."""

    def __init__(self, asgi: AsgiApplication, shop: Shop) -> None:
        self._front, self._shop = asgi, shop

    async def link(self, key: str = "") -> bytes:
        """Open a link."""
        extra = [(b"idempotency-key", key.encode())] if key else []
        return await self._request(PATHS["link"], LINK.encode(), 201, extra)

    async def waiting(self) -> UUID:
        """A payment whose method is chosen."""
        link = msgspec.json.decode(await self.link())
        path = f"/pay/{link['url'].rpartition('/')[2]}/method"
        await self._request(path, b"method_id=sandbox%3AEUR", 303, [(b"content-type", b"application/x-www-form-urlencoded")])
        shown = await self._request(f"{PATHS['link']}/{link['id']}", b"", 200)
        return UUID(msgspec.json.decode(shown)["latest_transaction_id"])

    async def capture(self, payment_id: UUID) -> bytes:
        """Let its money arrive."""
        return await self._request(PATHS["capture"].format(payment_id), CAPTURE.encode(), 200)

    async def _request(self, path: str, body: bytes, status: int, extra: list[tuple[bytes, bytes]] | None = None) -> bytes:
        headers = [(b"host", HOST), (b"x-api-key", self._shop.api_key.encode()), *(extra or [])]
        if body and not any(name == b"content-type" for name, _ in headers):
            headers.append((b"content-type", b"application/json"))
        method = "POST" if body else "GET"
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "client": ("", 0)}
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._front(scope, receive, send)
        answer = b"".join(message.get("body", b"") for message in sent[1:])
        if sent[0]["status"] != status:
            raise RuntimeError(f"{method} {path} was answered {sent[0]['status']}: {answer.decode(errors='replace')}")
        return answer


def keep(watched: Watched, folder: Path) -> None:
    """Leave the traces for the bare application."""
    for action, trace in watched.traces.items():
        trace.keep(folder / f"{action}.trace")
