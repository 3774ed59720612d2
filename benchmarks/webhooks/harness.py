"""The data: merchants with a signing secret, and events for as many receiving hosts, as the product records them."""

import asyncio
import time
from collections.abc import Sequence
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.database.packed_json import pack_value
from tollhouse.platform.database.pool import Tx
from tollhouse.webhooks.events import secrets, store
from tollhouse.webhooks.events.destination import destination_key
from tollhouse.webhooks.events.record import HELD_FOR, EventSource, payload, record

MERCHANTS = 50
LOOK_EVERY_S = 0.02
OBJECT = {
    "id": "018f0000-0000-7000-8000-000000000001", "payment_link_id": "018f0000-0000-7000-8000-000000000002",
    "status": "succeeded", "amount": "10.50", "amount_minor": 1050, "currency": "EUR", "fee": "0.30", "fee_minor": 30,
    "method_id": "sandbox:EUR", "external_id": "order-1001", "metadata": {"cart": "b7c1", "note": "café"},
    "created_at": "2026-11-21T02:39:00.123Z", "succeeded_at": "2026-11-21T02:39:07.456Z", "mode": "live", "livemode": True,
}  # fmt: skip
FORGET = ("webhook_attempts", "webhook_events", "webhook_event_keys")


class Harness:
    """Merchants that sell, each with a receiver at an address of its own."""

    def __init__(self, services: Services, port: int) -> None:
        self._services = services
        self._port = port
        self._envs: list[MerchantEnv] = []

    async def open(self) -> None:
        """Make the merchants and their secrets."""
        for _ in range(MERCHANTS):
            env = MerchantEnv(MerchantId(new_id()), "live")
            await self._services.db.execute(
                "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, 'Shop', now())", env.merchant_id
            )
            await self._services.db.transact(lambda tx, env=env: self._give_secret(tx, env))
            self._envs.append(env)

    def url(self, number: int) -> str:
        """Where the events of this merchant go."""
        return f"http://127.0.0.{number % MERCHANTS + 1}:{self._port}/webhooks/tollhouse"

    async def events(self, count: int) -> int:
        """So many events in one transaction; when it was committed."""
        async with self._services.db.transaction() as tx:
            await tx.raw.executemany(store.RECORD, [self._event(number) for number in range(count)])
        return time.monotonic_ns()

    async def event(self, number: int) -> tuple[UUID, int]:
        """One event, recorded as by a request; its id, and when it was committed."""
        env, source, url = self._envs[number % MERCHANTS], EventSource("transaction", new_id(), 1), self.url(number)
        event_id = await self._services.transact(
            lambda work: record(work, env, "payment.succeeded", source, DATA, url), clock.now()
        )
        return event_id, time.monotonic_ns()

    async def some_wait(self) -> bool:
        """Whether any is still to be sent. No count: measuring must not be half of the work."""
        row = await self._services.db.fetchrow(
            "SELECT EXISTS (SELECT FROM webhook_deliveries) OR EXISTS (SELECT FROM webhook_deliveries_later) AS some"
        )
        return row is not None and bool(row["some"])

    async def all_sent(self) -> None:
        """Wait until nothing is to be sent any more."""
        while await self.some_wait():  # noqa: ASYNC110 - somebody else does the work
            await asyncio.sleep(LOOK_EVERY_S)

    async def undelivered(self) -> int:
        """How many were not delivered at their first attempt."""
        row = await self._services.db.fetchrow(
            "SELECT count(*) AS count FROM webhook_events WHERE status <> 'delivered' OR attempts <> 1"
        )
        return int(row["count"]) if row else 0

    async def forget(self) -> None:
        """Begin again with empty tables."""
        await self._services.db.execute(f"TRUNCATE {', '.join(FORGET)}")

    async def _give_secret(self, tx: Tx, env: MerchantEnv) -> None:
        await secrets.lock(tx, env)
        await secrets.replace(tx, env, self._services.keys, clock.now())

    def _event(self, number: int) -> Sequence[object]:
        env, url, now, event_id = self._envs[number % MERCHANTS], self.url(number), clock.now(), new_id()
        body = pack_value(payload(event_id, env, "payment.succeeded", 1, DATA, now))
        return (
            event_id, env.merchant_id, env.mode, "payment.succeeded", "transaction", event_id, 1, body,
            url, destination_key(env, url), "request", False, now, HELD_FOR, None,
        )  # fmt: skip


DATA = {"object": OBJECT}
