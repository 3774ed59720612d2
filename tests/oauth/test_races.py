"""Races, twenty times each, by twenty connections to two web servers: one winner, no 5xx."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from tests.cast import HIDDEN, Actor, Answer, Application, application, post_form, sign_up
from tests.running import Service, free_port, settings_for
from tollhouse.instance.database import embedded

pytestmark = pytest.mark.xdist_group("races")
ROUNDS, CALLS = 20, 20
SCOPE = "account:read payments:read offline_access"
TOKEN, REVOKE = "/api/v2/oauth/token", "/api/v2/oauth/revoke"
CLIENTS = "/api/v2/merchant/oauth/clients"
KEYS, STOP = "/api/v2/merchant/api-keys", "/api/v2/merchant/stop-everything"
# A transaction that makes a key or code gets its number when it may, and the one that stops when no other may any more.
MADE_BEFORE = """
    WITH last AS (SELECT max(xmin::text::bigint) AS number FROM audit_lines
                  WHERE merchant_id = $1::uuid AND deed = 'account.everything_stopped')
    SELECT 'key' AS name FROM api_keys, last
    WHERE merchant_id = $1::uuid AND revoked_at IS NULL AND api_keys.xmin::text::bigint < last.number
    UNION ALL
    SELECT 'code' FROM oauth_codes, last
    WHERE merchant_id = $1::uuid AND used_at IS NULL AND oauth_codes.xmin::text::bigint < last.number
"""
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


class Servers:
    """Two web servers on one database."""

    def __init__(self, dsn: str) -> None:
        settings = settings_for(dsn, fresh=True)
        self.dsn = settings.database_url or ""
        more = settings_for(self.dsn, TOLLHOUSE_BASE_URL=f"http://127.0.0.1:{free_port()}")
        self.services = [Service(settings).start(), Service(more, worker=False).start()]

    def way(self, n: int) -> str:
        """The URL of one of the two."""
        return self.services[n % 2].url

    def stop(self) -> None:
        """Stop both."""
        for service in self.services:
            service.stop()


@pytest.fixture(scope="module")
def servers(server: embedded.Server) -> Iterator[Servers]:
    """Two servers for all races."""
    one = Servers(server.cluster.dsn)
    yield one
    one.stop()


@pytest.fixture
async def alice(servers: Servers) -> AsyncIterator[Actor]:
    """Alice, who connects the application."""
    async with sign_up(servers.services[0], "alice", "Alice's Coffee") as actor:
        yield actor


@pytest.fixture
async def app(servers: Servers) -> AsyncIterator[Application]:
    """Bob's application."""
    async with sign_up(servers.services[0], "bob", "Bob's Books") as bob:
        yield await application(bob)


async def race(calls: Iterable[Awaitable[Answer]]) -> list[Answer]:
    """Send all at once; none fails or takes long."""
    responses = await asyncio.wait_for(asyncio.gather(*calls), 20)
    assert max(answer.status for answer in responses) < 500, [answer.raw for answer in responses if answer.status >= 500]
    return responses


def assert_one_winner(responses: list[Answer], status: int, code: str) -> Answer:
    """The only success; all others got this error."""
    won = [answer for answer in responses if answer.status < 400]
    assert len(won) == 1
    for answer in responses:
        if answer is not won[0]:
            answer.refused(code, status)
    return won[0]


async def request(servers: Servers, n: int, path: str, app: Application, **fields: str) -> Answer:
    """A protocol request to one of the two servers."""
    credentials = {"client_id": app.client_id, "client_secret": app.client_secret or ""}
    return await post_form(servers.way(n) + path, credentials | fields)


async def exchange(servers: Servers, n: int, app: Application, code: str) -> Answer:
    """Exchange a code."""
    fields = {"code": code, "redirect_uri": app.redirect_uri, "code_verifier": app.verifier}
    return await request(servers, n, TOKEN, app, grant_type="authorization_code", **fields)


async def refresh(servers: Servers, n: int, app: Application, token: str) -> Answer:
    """Refresh."""
    return await request(servers, n, TOKEN, app, grant_type="refresh_token", refresh_token=token)


async def save(servers: Servers, n: int, app: Application, body: dict[str, Any]) -> Answer:
    """Save settings."""
    return await app.owner.send("PUT", f"{servers.way(n)}{CLIENTS}/{app.client_id}", json=body)


async def settings(app: Application, **changes: Any) -> dict[str, Any]:
    """The current settings with some changes."""
    now = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes", "version")
    return {name: now[name] for name in names} | changes


async def assert_tokens_invalid(app: Application, *bodies: dict[str, Any]) -> None:
    """No access or refresh token of these responses is accepted."""
    for body in bodies:
        (await app.api(body["access_token"], "GET", "/account")).refused("invalid_token", 401)
        if "refresh_token" in body:
            (await app.refresh(body["refresh_token"])).refused("invalid_grant", 400)


@pytest.mark.long
@pytest.mark.covers("O-115")
async def test_exchange_against_exchange(servers: Servers, app: Application, alice: Actor) -> None:
    for _ in range(ROUNDS):
        code = await app.code(alice, SCOPE)
        responses = await race(exchange(servers, n, app, code) for n in range(CALLS))
        await assert_tokens_invalid(app, assert_one_winner(responses, 400, "invalid_grant").body)
    grants = await alice.sql("SELECT revoked_because FROM oauth_grants WHERE client_id = $1", app.client_id)
    assert [grant["revoked_because"] for grant in grants] == ["code_replayed"] * ROUNDS


@pytest.mark.long
@pytest.mark.covers("O-128")
async def test_refresh_against_refresh(servers: Servers, app: Application, alice: Actor) -> None:
    for _ in range(ROUNDS):
        tokens = await app.connect(alice, SCOPE)
        responses = await race(refresh(servers, n, app, tokens["refresh_token"]) for n in range(CALLS))
        await assert_tokens_invalid(app, tokens, assert_one_winner(responses, 400, "invalid_grant").body)


@pytest.mark.long
@pytest.mark.covers("O-156")
async def test_refresh_against_revoke(servers: Servers, app: Application, alice: Actor) -> None:
    for turn in range(ROUNDS):
        tokens = await app.connect(alice, SCOPE)
        given_back = tokens["access_token" if turn % 2 else "refresh_token"]
        refreshed = [refresh(servers, n, app, tokens["refresh_token"]) for n in range(CALLS // 2)]
        revoked = [request(servers, n, REVOKE, app, token=given_back) for n in range(CALLS // 2)]
        responses = await race([call for pair in zip(refreshed, revoked, strict=True) for call in pair])
        assert {answer.status for answer in responses[1::2]} == {200}
        won = [answer.body for answer in responses[::2] if answer.status == 200]
        assert len(won) <= 1
        await assert_tokens_invalid(app, tokens, *won)


@pytest.mark.long
@pytest.mark.covers("O-116", "O-168")
async def test_exchange_against_update(servers: Servers, app: Application, alice: Actor) -> None:
    """No grant has the removed scope; a code that lost the race stays invalid."""
    full = (await settings(app))["scopes"]
    for turn in range(ROUNDS):
        codes = [await app.code(alice, SCOPE) for _ in range(3)]
        body = await settings(app, scopes=["account:read", "offline_access"])
        calls = [exchange(servers, n, app, codes[n % 3]) for n in range(CALLS - 1)]
        calls.insert(turn % CALLS, save(servers, turn, app, body))
        responses = await race(calls)
        responses.pop(turn % CALLS).ok()
        won = [answer.body for answer in responses if answer.status == 200]
        assert len(won) <= 3
        await assert_tokens_invalid(app, *won)
        for code in codes:
            (await app.exchange(code)).refused("invalid_grant", 400)
        (await save(servers, 0, app, await settings(app, scopes=full))).ok()
    masks = "SELECT count(*) AS n FROM oauth_grants WHERE client_id = $1 AND scope_mask & 4 <> 0 AND revoked_at IS NULL"
    assert (await alice.sql(masks, app.client_id))[0]["n"] == 0


@pytest.mark.long
@pytest.mark.covers("O-168", "O-170")
async def test_single_exchanges_and_refreshes_against_update(servers: Servers, app: Application, alice: Actor) -> None:
    """Each code and token is used once, so its grant stays active, without the removed scope, whichever was first."""
    full = (await settings(app))["scopes"]
    for turn in range(ROUNDS):
        codes = [await app.code(alice, SCOPE) for _ in range(7)]
        tokens = [await app.connect(alice, SCOPE) for _ in range(3)]
        codes += [await app.code(alice, "payments:read")]
        body = await settings(app, scopes=["account:read", "offline_access"])
        calls = [exchange(servers, n, app, code) for n, code in enumerate(codes)]
        calls += [refresh(servers, n, app, token["refresh_token"]) for n, token in enumerate(tokens)]
        place = turn % len(calls)
        calls.insert(place, save(servers, turn, app, body))
        responses = await race(calls)
        responses.pop(place).ok()
        for answer in responses:
            if answer.status != 200:
                answer.refused("invalid_grant", 400)
                continue
            account = await app.api(answer.body["access_token"], "GET", "/account")
            if account.status == 200:
                assert account.body["scopes"] == ["account:read", "offline_access"]
            else:
                assert answer.body["scope"] == "payments:read"
        (await save(servers, 0, app, await settings(app, scopes=full))).ok()
        for answer in responses:
            if answer.status == 200:
                opened = await app.api(answer.body["access_token"], "GET", "/payment-links")
                assert opened.status in {401, 403}


@pytest.mark.long
@pytest.mark.covers("O-192")
async def test_update_against_update(servers: Servers, app: Application) -> None:
    for turn in range(1, ROUNDS + 1):
        body = await settings(app)
        responses = await race(save(servers, n, app, body | {"name": f"N{n}"}) for n in range(CALLS))
        won = assert_one_winner(responses, 409, "application_changed").body
        now = await settings(app)
        assert (now["name"], now["version"]) == (won["name"], turn + 1)


@pytest.mark.long
@pytest.mark.covers("O-61")
async def test_allow_against_allow(servers: Servers, app: Application, alice: Actor) -> None:
    for turn in range(1, ROUNDS + 1):
        path = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
        hidden = HIDDEN.findall((await alice.send("GET", path)).ok().text)
        fields = [*hidden, ("scope", "account:read"), ("decision", "allow")]
        responses = await race(alice.form(servers.way(n) + path, fields) for n in range(CALLS))
        assert sorted(answer.status for answer in responses) == [303] + [409] * (CALLS - 1)
        won = next(answer for answer in responses if answer.status == 303)
        (await app.exchange(won.query["code"])).ok()
        assert len(await alice.sql("SELECT 1 FROM oauth_codes WHERE client_id = $1", app.client_id)) == turn


@pytest.mark.long
async def test_everything_stops_while_codes_tokens_and_keys_are_made(
    servers: Servers, app: Application, alice: Actor
) -> None:
    """What was made before has ended, also what was made at the same time. What is active was begun after the commit."""
    for turn in range(ROUNDS):
        codes = [await app.code(alice, SCOPE) for _ in range(4)]
        tokens = [await app.connect(alice, SCOPE) for _ in range(4)]
        path = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
        fields = [
            *HIDDEN.findall((await alice.send("GET", path)).ok().text),
            ("scope", "account:read"),
            ("decision", "allow"),
        ]
        calls = [exchange(servers, n, app, code) for n, code in enumerate(codes)]
        calls += [refresh(servers, n, app, token["refresh_token"]) for n, token in enumerate(tokens)]
        calls += [alice.send("POST", f"{servers.way(n)}{KEYS}", json={"name": f"{turn}", "mode": "test"}) for n in range(4)]
        calls += [alice.form(servers.way(turn) + path, fields)]
        place = (turn * 5) % len(calls)
        calls.insert(place, alice.send("POST", servers.way(turn) + STOP, json={"mode": "test"}))
        responses = await race(calls)
        stopped = responses.pop(place).ok().body
        assert stopped["connections"] >= 4
        await assert_tokens_invalid(app, *tokens, *(answer.body for answer in responses[:8] if answer.status == 200))
        for answer in responses[8:12]:
            assert answer.status == 201 or answer.refused("everything_stops", 409)
        assert [row["name"] for row in await alice.sql(MADE_BEFORE, alice.merchant_id)] == []


@pytest.mark.long
async def test_no_race_was_a_deadlock(servers: Servers) -> None:
    """Last in this file: closed connections have reported their statistics. A deadlock created here is counted."""
    servers.stop()
    assert await count_deadlocks(servers.dsn) == 0
    both = asyncio.Barrier(2)
    await asyncio.gather(*(lock_both(servers.dsn, first, 3 - first, both) for first in (1, 2)))
    while not await count_deadlocks(servers.dsn):
        await asyncio.sleep(0.05)


async def count_deadlocks(dsn: str) -> int:
    """The number of deadlocks of the database."""
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(DEADLOCKS))
    finally:
        await connection.close()


async def lock_both(dsn: str, first: int, second: int, both: asyncio.Barrier) -> None:
    """Take two locks in this order; the second when both have their first."""
    connection = await asyncpg.connect(dsn)
    try:
        with suppress(asyncpg.DeadlockDetectedError):
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", first)
                await both.wait()
                await connection.execute("SELECT pg_advisory_xact_lock($1)", second)
    finally:
        await connection.close()
