"""A million events wait for one destination: events of another merchant are delivered without delay."""

import asyncio

from chaos.figures import Figure, at_most, fact, percentile
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, hosts, respond_promptly, respond_slowly
from chaos.testbed import Testbed

BACKLOG, QUICK_BACKLOG = 1_000_000, 50_000
PROBES, QUICK_PROBES = 60, 20
PROBE_EVERY_S = 0.5
DELAY_MS_MAX = 1_000.0
ANSWER_AFTER_S = 0.05
ARRIVE_WITHIN_S = 60.0
NEW_ID = "(left($1::uuid::text, 24) || lpad(to_hex(n), 12, '0'))::uuid"

# Every table with rows of an event: by its own id or by `event_id`.
TABLES_OF_EVENTS = """
    SELECT c.relname AS name,
           CASE c.relname WHEN 'webhook_events' THEN 'id' ELSE 'event_id' END AS key,
           array_agg(quote_ident(a.attname) ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname LIKE 'webhook\\_%'
    GROUP BY c.relname HAVING bool_or(a.attname = 'event_id') OR c.relname = 'webhook_events'
    ORDER BY c.relname <> 'webhook_events'
"""
COUNT_BACKLOG = "SELECT count(*) FROM webhook_events WHERE source_type = 'transaction' AND status = 'pending'"


async def run(*, quick: bool) -> list[Figure]:
    """Insert 1,000,000 waiting events, or 50,000."""
    waiting, probes = (QUICK_BACKLOG, QUICK_PROBES) if quick else (BACKLOG, PROBES)
    async with (
        Testbed() as testbed,
        Receivers(hosts(10, 1), respond_promptly) as receivers,
        Receivers(hosts(20, 1), respond_slowly(lambda: ANSWER_AFTER_S)) as busy,
    ):
        producer = Producer(testbed)
        await insert_backlog(testbed, producer, Destination(await testbed.merchant(), busy.urls[0]), waiting)
        before = await testbed.count(COUNT_BACKLOG)
        other = Destination(await testbed.merchant(), receivers.urls[0])
        testbed.start_worker()
        await busy.wait_for({0}, ARRIVE_WITHIN_S)
        numbers: list[int] = []
        for _ in range(probes):
            numbers.append(await producer.record(other))
            await asyncio.sleep(PROBE_EVERY_S)
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        measure_delays_ms = [(arrival.at - producer.committed[arrival.number]) * 1000 for arrival in receivers.arrivals]
        return [
            fact("events that waited for one destination", before),
            fact("of these delivered meanwhile", len(busy.arrivals)),
            fact("events of another merchant", len(numbers)),
            fact("typical delay", percentile(measure_delays_ms, 0.5), unit="ms"),
            at_most("longest delay", max(measure_delays_ms), DELAY_MS_MAX, unit="ms"),
            at_most("events that did not come", len(missing), 0),
        ]


async def insert_backlog(testbed: Testbed, producer: Producer, destination: Destination, count: int) -> None:
    """Record one event and copy its rows in all tables, with ids that sort next to each other."""
    await producer.record(destination)
    connection = await testbed.connect()
    event_id = await connection.fetchval("SELECT id FROM webhook_events")
    for name, key, columns in await connection.fetch(TABLES_OF_EVENTS):
        fresh = {key, "source_id"}
        values = [NEW_ID if column in fresh else column for column in columns]
        await connection.execute(
            f"INSERT INTO {name} ({', '.join(columns)}) SELECT {', '.join(values)} "  # noqa: S608 - names of the catalogue
            f"FROM {name}, generate_series(1, $2::int) AS n WHERE {key} = $1",
            event_id,
            count,
        )
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
