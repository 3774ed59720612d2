"""Workers that are killed at any moment while they refresh, pay and consume events: nothing is lost, doubled or missed."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cast import Actor, application, every_scope, sign_up
from tests.extent import EXTENT
from tests.running import Service
from tests.sdk_typescript.programs import connected, start, stop

KILLS = EXTENT.of(50, short=3)
NAMES = ("anna", "bert")
LINES_BEFORE_A_KILL = 6
WITHIN_S = 60
DUE_AT_ONCE = "20"
"""Seconds that an access token lives: less than the SDK's margin, so that it refreshes before every request."""

pytestmark = [pytest.mark.xdist_group("npm"), pytest.mark.usefixtures("sdk"), pytest.mark.long]


async def test_nothing_is_lost_doubled_or_missed(make_service: Callable[..., Service], tmp_path: Path) -> None:
    service = make_service(TOLLHOUSE_ACCESS_TOKEN_TTL=DUE_AT_ONCE)
    async with sign_up(service, "alice", "Alice's Coffee") as alice, sign_up(service, "bob", "Bob's Books") as bob:
        (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "1000.00"})).ok(201)
        connection = await connected(await application(bob), alice, " ".join(await every_scope(bob)))
        tokens = tmp_path / "tokens.json"
        tokens.write_bytes(msgspec.json.encode({**connection.pop("tokens"), "expires_at": 0}))
        scenario = {"baseUrl": service.url, "folder": str(tmp_path), "tokensPath": str(tokens), **connection}
        await kill_workers(scenario)
        for name in NAMES:
            await finish(scenario, name)
        await verify(alice, tmp_path)


async def kill_workers(scenario: dict[str, Any]) -> None:
    """Two workers share the tokens. One after the other is killed when it has printed so many lines, and started again."""
    chance = random.Random(1)  # noqa: S311 - the moments differ, not the secrets
    workers = [await start("worker.mjs", name=name, **scenario) for name in NAMES]
    for number in range(KILLS):
        index = number % len(workers)
        for _ in range(chance.randrange(LINES_BEFORE_A_KILL)):
            assert await asyncio.wait_for(workers[index].stdout.readline(), WITHIN_S), "the worker ended by itself"
        await asyncio.sleep(chance.random() / 20)
        await stop(workers[index])
        workers[index] = await start("worker.mjs", name=NAMES[index], **scenario)
    for worker in workers:
        await stop(worker)


async def finish(scenario: dict[str, Any], name: str) -> None:
    """Pay what was ordered, and read the feed to its end."""
    worker = await start("worker.mjs", name=name, finish=True, **scenario)
    await asyncio.wait_for(worker.communicate(), WITHIN_S)
    assert worker.returncode == 0


async def verify(alice: Actor, folder: Path) -> None:
    """What the workers recorded is what the service has."""
    ordered = [line["order"] for name in NAMES for line in read(folder, name, "orders")]
    recorded = {line["order"]: line["id"] for name in NAMES for line in read(folder, name, "payments")}
    listed = await every(alice, "/balance-payments", "balance_payments")
    assert {payment["external_id"]: payment["id"] for payment in listed} == recorded
    assert (len(listed), set(recorded)) == (len(ordered), set(ordered))
    assert len(ordered) >= KILLS // 2
    balance = (await alice.get("/balances/EUR")).ok().body
    assert balance["available_minor"] == 100_000 - len(ordered)
    assert (await alice.get("/account")).ok()
    events = await every(alice, "/webhook-events", "webhook_events")
    for name in NAMES:
        seen = read(folder, name, "events")
        positions = [line["checkpoint"]["position"] for line in seen]
        assert positions == list(range(1, len(positions) + 1))
        count = Counter(line["id"] for line in seen)
        assert count.most_common(1)[0][1] == 1
        assert set(count) <= {event["id"] for event in events}
    last = NAMES[-1]
    assert len(read(folder, last, "events")) == len(events)


async def every(actor: Actor, path: str, member: str) -> list[Any]:
    """All objects of a list."""
    objects, cursor = list[Any](), ""
    while True:
        page = (await actor.get(f"{path}?limit=100{cursor}")).ok().body
        objects += page[member]
        if page["next_cursor"] is None:
            return objects
        cursor = f"&cursor={page['next_cursor']}"


def read(folder: Path, name: str, journal: str) -> list[Any]:
    """The lines of a worker's journal."""
    return [msgspec.json.decode(line) for line in (folder / f"{name}-{journal}.jsonl").read_bytes().splitlines()]
