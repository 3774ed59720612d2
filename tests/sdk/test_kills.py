"""Workers that are killed at random lines while they share a connection: nothing is lost, doubled or missed."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cast import Actor, application, sign_up
from tests.extent import EXTENT
from tests.running import Service
from tests.sdk.worker import TABLES, Scenario
from tollhouse_sdk import Feed, Grant, MemoryCheckpoint, Reading, SqlIntents, SqlTokens

KILLS = EXTENT.of(200, short=10)
WORKERS = 4
SCOPES = "balance-payments:read balance-payments:write balances:read webhooks:read offline_access"
DUE_AT_ONCE = "20"
"""Seconds that an access token lives: less than the margin of the SDK, so that each life begins with a refresh."""
WITHIN_S = 1_200

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("feed")]


async def test_nothing_is_lost_doubled_or_missed(make_service: Callable[..., Service], tmp_path: Path) -> None:
    service = make_service(TOLLHOUSE_ACCESS_TOKEN_TTL=DUE_AT_ONCE)
    async with sign_up(service, "alice", "Alice's Coffee") as alice, sign_up(service, "bob", "Bob's Books") as bob:
        (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "1000.00"})).ok(201)
        app = await application(bob)
        tokens = await app.connect(alice, SCOPES)
        scenario = Scenario(service.url, app.client_id, app.client_secret or "", str(tmp_path / "shared.db"))
        prepare(scenario, Grant(tokens["access_token"], time.time(), tokens["scope"], tokens["refresh_token"]))
        file = tmp_path / "scenario.json"
        file.write_bytes(msgspec.json.encode(scenario))
        said = await asyncio.gather(*(work(file, -(-KILLS // WORKERS), seed) for seed in range(WORKERS)))
        ends = Counter(line for lines in said for line in lines)
        assert set(ends) <= {"killed", "ended 0"}, ends
        assert ends["killed"] >= KILLS, ends
        assert await work(file, 0, 0) == []
        await verify(scenario, alice, app.client_id)


def prepare(scenario: Scenario, grant: Grant) -> None:
    """Tables, tokens and orders."""
    scenario.database.create_tables()
    with scenario.database.transaction() as cursor:
        for statement in TABLES:
            cursor.execute(statement)
        for number in range(KILLS):
            cursor.execute("INSERT INTO orders (id) VALUES (?)", (f"{number:05}",))
    SqlTokens(scenario.database, "shared").save(grant)


async def work(file: Path, kills: int, seed: int) -> list[str]:
    """Run a worker to its end: how each of its lives ended."""
    command = [sys.executable, "-m", "tests.sdk.worker", str(file), str(kills), str(seed)]
    worker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, errors = await asyncio.wait_for(worker.communicate(), WITHIN_S)
    assert worker.returncode == 0, errors.decode()[-3000:]
    assert errors == b"", errors.decode()[-3000:]
    return out.decode().splitlines()


async def verify(scenario: Scenario, alice: Actor, client_id: str) -> None:
    """The connection lives, each order is paid once, and each event was processed once, in order."""
    [grant] = await alice.sql("SELECT revoked_because FROM oauth_grants WHERE client_id = $1", client_id)
    assert grant["revoked_because"] is None
    paid = await _all_payments(alice)
    assert Counter(one["external_id"] for one in paid) == Counter(f"{number:05}" for number in range(KILLS))
    with scenario.database.transaction() as cursor:
        cursor.execute("SELECT id, payment_id FROM orders")
        assert dict(cursor.fetchall()) == {one["external_id"]: one["id"] for one in paid}
        cursor.execute("SELECT position FROM processed ORDER BY rowid")
        processed = [row[0] for row in cursor.fetchall()]
    assert SqlIntents(scenario.database).waiting() == []
    everything = await asyncio.to_thread(_positions, scenario)
    assert len(everything) >= KILLS
    assert processed == everything[: len(processed)]
    assert everything[len(processed) :] == []


def _positions(scenario: Scenario) -> list[int]:
    """What is in the feed, read from its beginning."""
    with scenario.client() as tollhouse:
        feed = Feed(tollhouse, MemoryCheckpoint(), Reading(types=["balance.updated"]))
        return [event.position for event in feed.events(follow=False)]


async def _all_payments(alice: Actor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = (await alice.get(f"/balance-payments?limit=100{cursor}")).ok().body
        found += page["balance_payments"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"
