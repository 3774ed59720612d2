"""The floor: a bare ASGI application that does the product's SQL for the same data, and nothing else.

The same server, driver and way of pooling; no router, no guard, no check of form, no log, no headers but two. It answers
no refusal: a row that is missing is an error.
"""

import asyncio
import hashlib
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import asyncpg
import msgspec
import uvicorn
from uuid_utils.compat import uuid7

from benchmarks.oauth import bare_tokens
from tollhouse.identity.store import BEARER, HORIZON, RECORD_GRANT_USE
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.main import WEB_POOL
from tollhouse.oauth.clients_store import FIND_CREDENTIALS
from tollhouse.oauth.store import EXCHANGE, EXCHANGE_LOCK_SHARED, REFRESH

BITS = [(1 << place, permission.scope) for place, permission in enumerate(PERMISSIONS)]
MINUTE = timedelta(seconds=60)
TOKEN_LIVES, GRANT_LIVES = timedelta(minutes=15), timedelta(days=30)
ENCODER = msgspec.json.Encoder()
JSON = (b"content-type", b"application/json")


class Account(msgspec.Struct):
    """The nine fields of an account."""

    merchant_id: UUID
    business_name: str
    mode: str
    livemode: bool
    api_key_id: None
    scopes: list[str]
    active: bool
    oauth_client_id: str
    oauth_grant_id: UUID


class Tokens(msgspec.Struct):
    """The five fields of a token response."""

    access_token: str
    token_type: str
    expires_in: int
    scope: str
    refresh_token: str


class Borrowed:
    """A connection and its prepared statements."""

    def __init__(self, raw: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.raw = raw
        self.prepared: dict[str, Any] = {}

    async def row(self, sql: str, *args: object) -> Any:
        """The first row."""
        statement = self.prepared.get(sql)
        if statement is None:
            statement = self.prepared[sql] = await self.raw.prepare(sql, name=f"s{len(self.prepared)}")
        return await statement.fetchrow(*args)


class Bare:
    """As many connections as the product has, borrowed last-in-first-out."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
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
        action = account if scope["method"] == "GET" else token
        body = await self.lend(action, scope, receive)
        headers = [JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def lend(self, action: Callable[[Borrowed, Any, Any], Awaitable[bytes]], scope: Any, receive: Any) -> bytes:
        """Do an action with a connection."""
        async with self.room:
            borrowed = self.idle.pop()
            try:
                return await action(borrowed, scope, receive)
            finally:
                self.idle.append(borrowed)


async def account(borrowed: Borrowed, scope: Any, _receive: Any) -> bytes:
    """Read an account by token, and note the use where it is due."""
    token = next(value for name, value in scope["headers"] if name == b"authorization")[7:]
    now = datetime.now(UTC)
    row = await borrowed.row(BEARER, hashlib.sha256(token).digest(), now, HORIZON)
    if row["last_used_at"] <= now - MINUTE:
        await borrowed.row(RECORD_GRANT_USE, row["grant_id"], now)
    return ENCODER.encode(
        Account(
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["mode"] == "live",
            None,
            [name for bit, name in BITS if row["scope_mask"] & bit],
            True,
            row["client_id"],
            row["grant_id"],
        )
    )


async def token(borrowed: Borrowed, _scope: Any, receive: Any) -> bytes:
    """Look the application up, then exchange or refresh in a transaction."""
    form = {name: values[0] for name, values in parse_qs((await receive())["body"].decode()).items()}
    client = await borrowed.row(FIND_CREDENTIALS, form["client_id"])
    if hashlib.sha256(form["client_secret"].encode()).digest() != client["secret_hash"]:
        raise ValueError("another secret")
    await borrowed.raw.execute("BEGIN")
    await borrowed.row(EXCHANGE_LOCK_SHARED, form["client_id"])
    answer = await (refresh if "refresh_token" in form else exchange)(borrowed, form, datetime.now(UTC))
    await borrowed.raw.execute("COMMIT")
    return ENCODER.encode(answer)


async def refresh(borrowed: Borrowed, form: dict[str, str], now: datetime) -> Tokens:
    """Turn a refresh token."""
    grant_id, generation = bare_tokens.read(form["refresh_token"])
    access_token, refresh_token = bare_tokens.random_token(), bare_tokens.refresh_token(grant_id, generation + 1)
    row = await borrowed.row(
        REFRESH,
        grant_id,
        form["client_id"],
        generation,
        digest(form["refresh_token"]),
        now,
        None,
        digest(refresh_token),
        digest(access_token),
        now + TOKEN_LIVES,
    )
    return issued(row, now, access_token, refresh_token)


async def exchange(borrowed: Borrowed, form: dict[str, str], now: datetime) -> Tokens:
    """Exchange a code."""
    grant_id = uuid7()
    access_token, refresh_token = bare_tokens.random_token(), bare_tokens.refresh_token(grant_id, 0)
    row = await borrowed.row(
        EXCHANGE,
        form["client_id"],
        digest(form["code"]),
        form["redirect_uri"],
        digest(form["code_verifier"]),
        now,
        grant_id,
        now + GRANT_LIVES,
        digest(refresh_token),
        digest(access_token),
        now + TOKEN_LIVES,
        "bench",
    )
    return issued(row, now, access_token, refresh_token)


def issued(row: Any, now: datetime, access_token: str, refresh_token: str) -> Tokens:
    """The answer."""
    scope = " ".join(name for bit, name in BITS if row["scope_mask"] & bit)
    return Tokens(access_token, "Bearer", int((row["expires_at"] - now).total_seconds()), scope, refresh_token)


def digest(text: str) -> bytes:
    """SHA-256."""
    return hashlib.sha256(text.encode()).digest()


if __name__ == "__main__":
    uvicorn.run(Bare(sys.argv[1]), port=int(sys.argv[2]), log_config=None, access_log=False, server_header=False)
