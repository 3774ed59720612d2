"""The event feed through the SDK: from a checkpoint on, in order, once per transaction, by several readers, and its ends."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cast import Actor
from tests.sdk.driven import Driven, driven, everything
from tests.sdk.proxy import LOSE, Proxy, error_response
from tollhouse.instance.database import embedded
from tollhouse_sdk import (
    AsyncFeed,
    AsyncTollhouse,
    Checkpoint,
    ConnectionFailed,
    Database,
    EventsExpired,
    Feed,
    FeedReset,
    FileCheckpoint,
    MemoryCheckpoint,
    Position,
    Reading,
    Retries,
    SqlCheckpoint,
    Tollhouse,
    verify,
)

pytestmark = pytest.mark.usefixtures("feed")

BOTH = pytest.mark.parametrize("kind", [Tollhouse, AsyncTollhouse])
KINDS: dict[Any, Any] = {Tollhouse: Feed, AsyncTollhouse: AsyncFeed}
SMALL = Reading(limit=2)


async def happened(actor: Actor, count: int) -> list[int]:
    """So many events, and their positions."""
    before = len((await actor.get("/events?limit=100")).ok().body["events"])
    for _ in range(count):
        (await actor.post("/test/balances/fund", {"currency": "EUR", "amount": "1.00"})).ok(201)
    for _ in range(400):
        found = [one["position"] for one in (await actor.get("/events?limit=100")).ok().body["events"]]
        if len(found) >= before + count:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("the events did not get positions")


async def read(reader: Driven, checkpoint: Checkpoint, reading: Reading = SMALL) -> list[int]:
    """The positions of everything after the checkpoint."""
    feed = KINDS[type(reader.client)](reader.client, checkpoint, reading)
    return [event.position for event in await everything(feed.events(follow=False))]


def checkpoints(where: str, folder: Path) -> Callable[[], Checkpoint]:
    """Opens the same checkpoint, as a process does that begins again."""
    if where == "file":
        return lambda: FileCheckpoint(folder / "feed.json")
    database = Database.sqlite(folder / "shop.db")
    database.create_tables()
    return lambda: SqlCheckpoint(database, "shipping")


@BOTH
@pytest.mark.parametrize("where", ["file", "sql"])
async def test_a_reader_goes_on_where_it_was(kind: Any, where: str, alice: Actor, tmp_path: Path) -> None:
    reader = driven(kind, alice.service.url, await alice.key())
    checkpoint = checkpoints(where, tmp_path)
    first = await happened(alice, 5)
    assert await read(reader, checkpoint()) == first
    assert checkpoint().load().position == first[-1]
    more = await happened(alice, 3)
    assert await read(reader, checkpoint()) == more[len(first) :]
    assert await read(reader, checkpoint()) == []


@BOTH
async def test_who_stops_in_the_middle_gets_the_event_again(kind: Any, alice: Actor) -> None:
    reader = driven(kind, alice.service.url, await alice.key())
    positions = await happened(alice, 3)
    checkpoint = MemoryCheckpoint()
    feed = KINDS[kind](reader.client, checkpoint, SMALL)
    events = feed.events(follow=False)
    got = [await anext(events) if kind is AsyncTollhouse else await asyncio.to_thread(next, events) for _ in range(2)]
    assert [one.position for one in got] == positions[:2]
    assert checkpoint.load().position == positions[0]
    assert await read(reader, checkpoint) == positions[1:]
    await asyncio.sleep(0) if kind is Tollhouse else await events.aclose()


@BOTH
async def test_it_waits_for_the_next_event(kind: Any, alice: Actor) -> None:
    reader = driven(kind, alice.service.url, await alice.key())
    feed = KINDS[kind](reader.client, MemoryCheckpoint(), Reading(types=["balance.updated"], wait_s=20))
    events = feed.events()
    first: Any = anext(events) if kind is AsyncTollhouse else asyncio.to_thread(next, events)
    waiting = asyncio.ensure_future(first)
    [position] = await happened(alice, 1)
    assert (await waiting).position == position
    if kind is AsyncTollhouse:
        await events.aclose()


async def test_an_event_of_the_feed_is_signed_and_typed(alice: Actor) -> None:
    secret = (await alice.post("/webhook/rotate-secret")).ok().body["secret"]
    await happened(alice, 1)
    reader = driven(Tollhouse, alice.service.url, await alice.key())
    [event] = await everything(Feed(reader.client, MemoryCheckpoint()).events(follow=False))  # type: ignore[arg-type]
    assert verify(event.body.encode(), event.headers, secret) == event.payload
    assert event.payload["type"] == event.type == "balance.updated"
    assert event.id == event.payload["id"]
    assert await read(reader, MemoryCheckpoint(), Reading(types=["payment.failed"])) == []
    assert await reader.call("read_feed", after=0, limit=1)


@BOTH
async def test_only_you_decide_after_a_restore_or_deletion(kind: Any, alice: Actor, proxy: Proxy) -> None:
    reader = driven(kind, proxy.url, await alice.key())
    positions = await happened(alice, 1)
    for lost in (Position("another", 0), Position("", positions[-1] + 100)):
        with pytest.raises(FeedReset):
            await read(reader, MemoryCheckpoint(lost))
    proxy.plan.append(error_response(410, "events_expired", {"oldest": 7}))
    with pytest.raises(EventsExpired) as expired:
        await read(reader, MemoryCheckpoint(Position("", 2)))
    assert expired.value.oldest == 7


@BOTH
async def test_a_lost_page_is_read_again(kind: Any, alice: Actor, proxy: Proxy) -> None:
    positions = await happened(alice, 3)
    reader = driven(kind, proxy.url, await alice.key())
    proxy.plan.extend([LOSE, LOSE])
    assert await read(reader, MemoryCheckpoint()) == positions
    proxy.plan.append(LOSE)
    with pytest.raises(ConnectionFailed):
        await read(driven(kind, proxy.url, await alice.key(), retries=Retries(1)), MemoryCheckpoint())


def postgres(server: embedded.Server) -> Database:
    """A database of PostgreSQL with the tables of the SDK."""
    return Database(lambda: psycopg.connect(server.cluster.dsn))


@pytest.mark.long
@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
async def test_several_readers_process_each_event_once(
    where: str, alice: Actor, tmp_path: Path, server: embedded.Server
) -> None:
    database = Database.sqlite(tmp_path / "shop.db") if where == "sqlite" else postgres(server)
    database.create_tables()
    name = f"readers of {alice.merchant_id}"
    with database.transaction() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS shipped (position BIGINT NOT NULL, reader INT NOT NULL)")
        cursor.execute("DELETE FROM shipped")
    positions = await happened(alice, 25)
    key = await alice.key()

    def reader(number: int) -> None:
        def effect(event: Any, cursor: Any) -> None:
            cursor.execute(database.statement("INSERT INTO shipped VALUES (?, ?)"), (event.position, number))

        with Tollhouse(alice.service.url, key) as client:
            Feed(client, SqlCheckpoint(database, name), SMALL).run_in_transaction(effect, follow=False)

    await asyncio.gather(*(asyncio.to_thread(reader, number) for number in range(4)))
    with database.transaction() as cursor:
        cursor.execute("SELECT position FROM shipped")
        assert Counter(row[0] for row in cursor.fetchall()) == Counter(positions)
    assert SqlCheckpoint(database, name).load().position == positions[-1]


async def test_an_effect_that_fails_moves_nothing(alice: Actor, tmp_path: Path) -> None:
    database = Database.sqlite(tmp_path / "shop.db")
    database.create_tables()
    positions = await happened(alice, 3)
    reader = driven(Tollhouse, alice.service.url, await alice.key())
    checkpoint = SqlCheckpoint(database, "shipping")
    done: list[int] = []

    def effect(event: Any, _cursor: Any) -> None:
        if len(done) == 2:
            raise LookupError(event.position)
        done.append(event.position)

    feed: Any = Feed(reader.client, checkpoint)  # type: ignore[arg-type]
    with pytest.raises(LookupError, match=str(positions[2])):
        await asyncio.to_thread(feed.run_in_transaction, effect, follow=False)
    assert (done, checkpoint.load().position) == (positions[:2], positions[1])
    with pytest.raises(TypeError, match="SqlCheckpoint"):
        Feed(reader.client, MemoryCheckpoint()).run_in_transaction(effect)  # type: ignore[arg-type]


async def test_a_row_is_locked_until_its_process_ends(server: embedded.Server) -> None:
    database = postgres(server)
    database.create_tables()
    first, second = database.lock("merchant-7"), database.lock("merchant-7")
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    first.release()
    assert second.try_acquire()
    second.release()
    with pytest.raises(psycopg.errors.DataError):
        database.lock("x" * 300)
    with pytest.raises(psycopg.errors.DataError), SqlCheckpoint(database, "x" * 300).advancing(Position("f", 1)):
        raise AssertionError
