"""A code exchange and a refresh write by one statement, which sees settings that are being changed as they become."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest

from tests.cast import Actor, Application, application
from tollhouse.kernel import clock
from tollhouse.kernel.scopes import Scopes, parse
from tollhouse.oauth import clients_store, connections_store, store
from tollhouse.platform.database.pool import Tx

SCOPE = "account:read payments:read offline_access"
LESS = parse(["account:read", "offline_access"]) or Scopes(0)
BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted AND $1 = ANY(pg_blocking_pids(pid))"
KINDS = ("fetch", "fetchrow", "fetchval", "execute", "run", "fetch_custom_plan", "read", "read_row")


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that mention OAuth, and those of transactions, in the order of their calls."""
    said: list[str] = []

    def record(kind: str) -> None:
        usual = getattr(Tx, kind)

        async def noted(tx: Tx, sql: str, *args: Any) -> Any:
            said.append(sql)
            return await usual(tx, sql, *args)

        monkeypatch.setattr(Tx, kind, noted)

    with monkeypatch.context():
        for kind in KINDS:
            record(kind)
        yield said


async def test_the_statements_of_exchange_and_refresh(alice: Actor, bob: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    app = await application(bob)
    code = await app.code(alice, SCOPE)
    with recorded(monkeypatch) as said:
        tokens = (await app.exchange(code)).ok().body
        await app.refresh(tokens["refresh_token"])
    of_oauth = [sql for sql in said if "oauth" in sql]
    assert of_oauth == [store.EXCHANGE, store.REFRESH]


async def test_scopes_removed_at_the_same_time_are_not_granted(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    code = await app.code(alice, SCOPE)
    tokens = await app.connect(alice, SCOPE)
    raw = await asyncpg.connect(alice.service.dsn)
    try:
        async with raw.transaction():
            await remove_scopes(raw, app)
            calls = [asyncio.create_task(call) for call in (app.exchange(code), app.refresh(tokens["refresh_token"]))]
            while not any(call.done() for call in calls) and await raw.fetchval(BLOCKED, raw.get_server_pid()) < len(calls):
                await asyncio.sleep(0.01)
        responses = [(await call).ok().body for call in calls]
    finally:
        await raw.close()
    assert [response["scope"] for response in responses] == ["account:read offline_access"] * 2
    masks = await alice.sql("SELECT DISTINCT scope_mask FROM oauth_grants WHERE client_id = $1", app.client_id)
    assert [row["scope_mask"] for row in masks] == [LESS.mask]


async def remove_scopes(raw: "asyncpg.Connection[asyncpg.Record]", app: Application) -> None:
    """As the owner's update does, but codes stay valid: the exchange must read the new settings."""
    await raw.execute(clients_store.EXCHANGE_LOCK, app.client_id)
    await raw.execute("UPDATE oauth_clients SET scope_mask = $2 WHERE id = $1", app.client_id, LESS.mask)
    await raw.execute(connections_store.RESTRICT_SCOPES, app.client_id, LESS.mask, clock.now())
