"""The floor of the benchmarks does what the product does, in one database call."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest
from benchmarks.harness.command import GROUPS, learn_all
from benchmarks.harness.onetrip import OneTrip, Setup
from benchmarks.harness.trace import DifferentStatementsError, Fresh, Known, Moment, Random, Seen, Several, Text, compare
from benchmarks.harness.watch import Watched, listening
from benchmarks.money import operations as money_operations
from benchmarks.money import seed as money_seed
from benchmarks.oauth import seed as oauth_seed

from tests.running import migrated_database
from tollhouse.instance.database import embedded

REQUESTS = 3
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MERCHANTS = [UUID(int=1), UUID(int=1), UUID(int=2)]
NEW = [UUID(int=10), UUID(int=11), UUID(int=12)]


@pytest.mark.long
async def test_one_call_does_what_the_product_does(server: embedded.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth_seed, "GRANTS", 20)
    for module in (money_seed, money_operations):
        monkeypatch.setattr(module, "MERCHANTS", 4)
    dsn = await migrated_database(server.cluster.dsn)
    connection = await asyncpg.connect(dsn)
    learned = await learn_all(connection, dsn, [kind for kinds in GROUPS.values() for kind in kinds])
    floor = OneTrip(dsn, Setup({kind: call for kind, (_, call) in learned.found.items()}, learned.merchants))
    await floor.open(1)
    for operation in learned.operations:
        items = await operation.items("floor", REQUESTS)
        done = await connection.fetchval(operation.done) if operation.done else 0
        for item in items[:REQUESTS]:
            with listening() as heard:
                status, _ = await Watched(floor).send(operation.wire.of(item))
            assert status == learned.found[operation.kind][0].status
            assert len(heard) == 1
        if operation.done:
            assert await connection.fetchval(operation.done) - done == REQUESTS, operation.name
    await floor.close()
    await connection.close()


def seen(request: int, sql: str, *values: object) -> Seen:
    return Seen([("BEGIN", ()), (sql, values), ("COMMIT", ())], NOW, 200, {}, {MERCHANTS[request]: "merchant_id"})


async def test_what_differs_between_requests_has_a_place(server: embedded.Server) -> None:
    connection = await asyncpg.connect(server.cluster.dsn)
    sql = "SELECT $1::uuid, $2::uuid[], $3::text, $4::text, $5::timestamptz, $6::int, $7::bytea"
    trace = await compare(
        connection,
        [
            seen(
                request, sql, MERCHANTS[request], [NEW[request], MERCHANTS[request]], "EUR", f"ref-{NEW[request]}",
                NOW + timedelta(days=1, milliseconds=request), 7, bytes([request]) * 32,
            )
            for request in range(3)
        ],
    )  # fmt: skip
    await connection.close()
    assert trace.trips == 3
    assert [said.values for said in trace.statements] == [
        (
            Known("merchant_id"),
            Several((Fresh(0), Known("merchant_id"))),
            "EUR",
            Text(("ref-", Fresh(0), ""), is_text=True),
            Moment(timedelta(days=1)),
            7,
            Random(0, 32, is_text=False),
        )
    ]


async def test_requests_that_differ_in_their_statements_have_no_trace(server: embedded.Server) -> None:
    connection = await asyncpg.connect(server.cluster.dsn)
    with pytest.raises(DifferentStatementsError):
        await compare(connection, [seen(0, "SELECT 1"), seen(1, "SELECT 2"), seen(2, "SELECT 1")])
    await connection.close()
