"""The floor: a bare ASGI application that says the same to the database as the product, and nothing else.

The same server, driver and way of pooling; no router, no guard, no check of form, no log, no headers but two.
"""

import asyncio
import hashlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import uvicorn
from uuid_utils.compat import uuid7

from benchmarks.money import seed
from benchmarks.money.trace import Fresh, FreshToken, Known, Moment, Several, Trace, kept
from tollhouse.main import WEB_POOL
from tollhouse.payment_links.model import new_link_token

ENCODER = msgspec.json.Encoder()
JSON = (b"content-type", b"application/json")


class Facts:
    """What is one request's own."""

    def __init__(self, headers: dict[bytes, bytes], path: str) -> None:
        self.now = datetime.now(UTC)
        self.fresh: dict[int, UUID] = {}
        self.known: dict[str, Any] = {"api_key_hash": hashlib.sha256(headers[b"x-api-key"]).digest()}
        if b"idempotency-key" in headers:
            self.known["key_hash"] = hashlib.sha256(headers[b"idempotency-key"]).digest()
        if "/transactions/" in path:
            payment_id = path.split("/")[6]
            self.known["payment_id"], self.known["payment_name"] = UUID(payment_id), payment_id
            self.known["link_id"] = UUID(f"{seed.LINK:08x}{payment_id[8:]}")


class Borrowed:
    """A connection and its prepared statements."""

    def __init__(self, raw: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.raw = raw
        self.prepared: dict[str, Any] = {}

    async def say(self, sql: str, values: list[Any]) -> Any:
        """Run a statement; its first row."""
        if not values:
            return await self.raw.execute(sql)
        statement = self.prepared.get(sql)
        if statement is None:
            statement = self.prepared[sql] = await self.raw.prepare(sql, name=f"s{len(self.prepared)}")
        rows = await statement.fetch(*values)
        return rows[0] if rows else None


class Action:
    """A trace that can be said again for another request."""

    def __init__(self, trace: Trace) -> None:
        self.answer = msgspec.json.decode(trace.answer)
        self.status = trace.status
        self.statements = [(said.sql, [filled(value) for value in said.values]) for said in trace.statements]

    async def again(self, borrowed: Borrowed, facts: Facts) -> bytes:
        """Say everything, and encode an answer."""
        for sql, places in self.statements:
            row = await borrowed.say(sql, [place(facts) for place in places])
            if "merchant_id" not in facts.known:
                facts.known["merchant_id"] = row["merchant_id"]  # the first statement asks who calls
        return ENCODER.encode(self.answer)


class Bare:
    """As many connections as the product has, borrowed last-in-first-out."""

    def __init__(self, dsn: str, actions: dict[str, Action]) -> None:
        self.dsn, self.actions = dsn, actions
        self.idle: list[Borrowed] = []
        self.room = asyncio.Semaphore(WEB_POOL)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await receive()
            for _ in range(WEB_POOL):
                self.idle.append(Borrowed(await asyncpg.connect(self.dsn, statement_cache_size=0)))
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        msgspec.json.decode((await receive())["body"])
        facts = Facts(dict(scope["headers"]), scope["path"])
        action = self.actions["capture" if "payment_id" in facts.known else "link"]
        async with self.room:
            borrowed = self.idle.pop()
            try:
                body = await action.again(borrowed, facts)
            finally:
                self.idle.append(borrowed)
        headers = [JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": action.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def filled(value: Any) -> Callable[[Facts], Any]:
    """How the value at a place is found for a request."""
    match value:
        case Known(name):
            return lambda facts: facts.known[name]
        case Fresh(place):
            return lambda facts: facts.fresh.get(place) or facts.fresh.setdefault(place, uuid7())
        case FreshToken():
            return lambda _: new_link_token()
        case Moment(after):
            return lambda facts: facts.now + after
        case Several(values):
            places = [filled(one) for one in values]
            return lambda facts: [place(facts) for place in places]
        case _:
            return lambda _: value


if __name__ == "__main__":
    actions = {file.stem: Action(kept(file)) for file in Path(sys.argv[3]).glob("*.trace")}
    uvicorn.run(Bare(sys.argv[1], actions), port=int(sys.argv[2]), log_config=None, access_log=False, server_header=False)
