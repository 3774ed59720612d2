"""A merchant with a house to record and deliver events in, without the web before it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from aiohttp import web

from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode, new_id
from tollhouse.platform.database.invariants import find_all_violations
from tollhouse.platform.database.pool import Row, Tx
from tollhouse.webhooks.delivery import signed_request
from tollhouse.webhooks.delivery.bulkheads import Lane
from tollhouse.webhooks.delivery.results import LEASE, sweep
from tollhouse.webhooks.delivery.signed_request import Claim
from tollhouse.webhooks.delivery.worker import DeliveryWorker
from tollhouse.webhooks.endpoints import actions
from tollhouse.webhooks.events import delivery_store, positions_store, secrets
from tollhouse.webhooks.events.invariants_store import INVARIANTS
from tollhouse.webhooks.events.record import EventSource, record

WITHIN_S = 30
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Harness:
    """Records for one merchant in one mode, and looks at what became of it."""

    def __init__(self, services: Services, env: MerchantEnv) -> None:
        self.services = services
        self.env = env

    async def secret(self) -> str:
        """A new active signing secret."""

        async def action(tx: Tx) -> str:
            await secrets.lock(tx, self.env)
            return await secrets.replace(tx, self.env, self.services.keys, clock.now())

        return await self.services.db.transact(action)

    async def record(self, url: str | None, **changes: Any) -> UUID:
        """An event in a transaction of its own."""
        return await self.services.db.transact(lambda tx: self.record_in(tx, url, **changes))

    async def record_in(self, tx: Tx, url: str | None, **changes: Any) -> UUID:
        """An event in this transaction."""
        facts: dict[str, Any] = {
            "type": "payment.succeeded",
            "source_type": "transaction",
            "source_id": new_id(),
            "sequence": 1,
            "object": {"amount": "10.50", "note": "café \U0001f600"},
            "extra": {},
            **changes,
        }
        source = EventSource(facts["source_type"], facts["source_id"], facts["sequence"])
        data = {"object": facts["object"], **facts["extra"]}
        return await record(Work(tx, self.services, clock.now()), self.env, facts["type"], source, data, url)

    async def event(self, event_id: UUID) -> Row:
        """The event's row."""
        row = await self.services.db.fetchrow("SELECT * FROM webhook_events WHERE id = $1", event_id)
        assert row is not None
        return row

    async def delivery(self, event_id: UUID) -> Row | None:
        """What is still to be sent of it, now or on its way."""
        return await self.services.db.fetchrow("SELECT * FROM webhook_deliveries WHERE event_id = $1", event_id)

    async def planned(self, event_id: UUID) -> Row | None:
        """What is to be sent of it later."""
        return await self.services.db.fetchrow("SELECT * FROM webhook_deliveries_later WHERE event_id = $1", event_id)

    async def history(self, event_id: UUID) -> list[tuple[int, str, str | None]]:
        """Attempt, status and error, in order."""
        rows = await self.services.db.fetch("SELECT * FROM webhook_attempts WHERE event_id = $1 ORDER BY attempt", event_id)
        return [(row["attempt"], row["trigger"], row["error"]) for row in rows]

    async def until(self, event_id: UUID, *statuses: str) -> Row:
        """The event once it has one of these statuses."""

        async def look() -> Row | None:
            row = await self.event(event_id)
            return row if row["status"] in statuses else None

        return await eventually(look)

    async def execute(self, statement: str, *args: object) -> int:
        """Turn a clock in the database, or break something."""
        return await self.services.db.execute(statement, *args)

    async def broken(self) -> list[str]:
        """Broken invariants."""
        async with self.services.db.transaction() as tx:
            return await find_all_violations(tx, INVARIANTS)

    async def redeliver(self, event_id: UUID) -> None:
        """Ask for it once more."""
        await self.services.transact(lambda work: actions.redeliver(work, self.env, event_id), clock.now())

    async def disable_delivery(self) -> None:
        """End delivery in this environment."""
        await self.services.transact(lambda work: actions.disable_delivery(work, self.env), clock.now())

    async def claim(self) -> Row:
        """Claim the one due delivery, as a worker does, and do nothing with it."""
        rows = await self.claim_all()
        assert len(rows) == 1
        row = await self.delivery(rows[0]["event_id"])
        assert row is not None
        return row

    async def claim_all(self, limit: int = 4) -> list[Row]:
        """Number what waits, then claim what is due, so much of each destination."""
        await positions_store.number_waiting(self.services.db)
        batches = [
            (lane, row["key"]) for lane in Lane for row in await self.services.db.fetch(delivery_store.WALK, lane, -1, 1000)
        ]
        lanes, keys = [lane for lane, _ in batches], [key for _, key in batches]
        return await self.services.db.fetch(delivery_store.CLAIM, lanes, keys, [limit] * len(batches), new_id(), LEASE)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[DeliveryWorker]:
        """A worker that runs meanwhile, and sweeps often."""
        worker = DeliveryWorker(self.services)
        running = asyncio.create_task(worker.run())
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield worker
        finally:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)
            worker.stop()
            await running

    async def _sweep(self) -> None:
        while True:
            await sweep(self.services)
            await asyncio.sleep(0.05)


async def eventually(look: Callable[[], Any]) -> Any:
    """What `look` returns as soon as it is true; fails after 30 s."""
    async with asyncio.timeout(WITHIN_S):
        while not (found := await look()):
            await asyncio.sleep(0.02)
    return found


def responses(*codes: int, **headers: str) -> Answer:
    """These codes one after the other, the last one for ever."""
    left = list(codes)

    async def answer(_request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=left.pop(0) if len(left) > 1 else left[0], headers=named)

    return answer


async def open_harness(services: Services, mode: Mode) -> Harness:
    """A harness for a new merchant."""
    merchant_id = MerchantId(new_id())
    await services.db.execute(
        "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, 'Alice''s Coffee', $2)", merchant_id, clock.now()
    )
    return Harness(services, MerchantEnv(merchant_id, mode))


def claim_from_row(row: Row) -> Claim:
    """The claim that a delivery's lease stands for."""
    leased = {**row, "started_at": row["lease_until"] - LEASE, "request_id": None}
    return signed_request.claim_from_row(leased, row["lease_token"])  # pyright: ignore[reportArgumentType]
