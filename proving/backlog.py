"""A million events wait for one destination: an event of another merchant is delivered as if they were not there."""

import asyncio

from proving.bed import Bed
from proving.producing import Destination, Producer
from proving.receiving import Receivers, hosts, promptly, slowly
from proving.results import Figure, fact, must, percentile

WAITING, QUICK_WAITING = 1_000_000, 50_000
PROBES, QUICK_PROBES = 60, 20
PROBE_EVERY_S = 0.5
MOST_MS = 1_000.0
ANSWER_AFTER_S = 0.05
ARRIVE_WITHIN_S = 60.0
NEW_ID = "(left($1::uuid::text, 24) || lpad(to_hex(n), 12, '0'))::uuid"

# Every table that knows the event: by its own id, or by that of the event it belongs to.
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


async def prove(*, quick: bool) -> list[Figure]:
    """A million waiting events, or fifty thousand."""
    waiting, probes = (QUICK_WAITING, QUICK_PROBES) if quick else (WAITING, PROBES)
    async with (
        Bed() as bed,
        Receivers(hosts(10, 1), promptly) as receivers,
        Receivers(hosts(20, 1), slowly(lambda: ANSWER_AFTER_S)) as busy,
    ):
        producer = Producer(bed)
        await pile_up(bed, producer, Destination(await bed.merchant(), busy.urls[0]), waiting)
        before = await bed.count(COUNT_BACKLOG)
        other = Destination(await bed.merchant(), receivers.urls[0])
        bed.start_worker()
        await busy.wait_for({0}, ARRIVE_WITHIN_S)
        numbers: list[int] = []
        for _ in range(probes):
            numbers.append(await producer.record(other))
            await asyncio.sleep(PROBE_EVERY_S)
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        delays_ms = [(one.at - producer.committed[one.number]) * 1000 for one in receivers.arrivals]
        return [
            fact("events that waited for one destination", before),
            fact("of these delivered meanwhile", len(busy.arrivals)),
            fact("events of another merchant", len(numbers)),
            fact("typical delay", percentile(delays_ms, 0.5), unit="ms"),
            must("longest delay", max(delays_ms), MOST_MS, unit="ms"),
            must("events that did not come", len(missing), 0),
        ]


async def pile_up(bed: Bed, producer: Producer, destination: Destination, count: int) -> None:
    """Record one event, and copy its rows, whatever tables they stand in: under ids that sort as if born together."""
    await producer.record(destination)
    connection = await bed.connect()
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
