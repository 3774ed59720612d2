"""A crash at every single step of a fulfillment, and every rule in the database too."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.invariants import broken_invariants
from tests.payments.killing import FusedPool, every_row, kill_everywhere
from tests.transfers.fulfillments.depot import Depot
from tollhouse.http.services import Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.fulfillments import actions
from tollhouse.transfers.fulfillments.actions import NewFulfillment

pytestmark = pytest.mark.long

TABLES = (
    "fulfillments", "ledger_accounts", "ledger_transactions", "ledger_postings", "ledger_entries", "ledger_holds",
    "webhook_events", "webhook_deliveries",
)  # fmt: skip
WRONG = (
    "delivered_quantity = 6",
    "delivered_quantity = 4",
    "delivered_quantity = 0",
    "status = 'partially_completed'",
    "status = 'pending', completed_at = NULL, provider_reference = NULL, delivered_quantity = 0",
    "status = 'failed', failure_code = 'x'",
    "failure_code = 'x'",
    "provider_reference = NULL",
    "next_look_at = now()",
    "cost_minor = 51",
    "unit_wholesale_minor = unit_price_minor + 1",
    "server = 'quest'",
    "mode = 'live'",
)


def env_of(depot: Depot) -> MerchantEnv:
    """The merchant's test environment."""
    return MerchantEnv(MerchantId(UUID(depot.actor.merchant_id)), "test")


async def survive(depot: Depot, action: Callable[[Tx], Awaitable[Any]], *, at_least: int) -> None:
    """Kill the action at every fault point, then let it be; the books are in order."""

    async def look() -> list[Any]:
        return await every_row(depot.actor, TABLES)

    db = depot.services.db
    assert isinstance(db, FusedPool)
    steps, _ = await kill_everywhere(db, lambda: db.transact(action), look)
    assert steps >= at_least
    assert await broken_invariants(depot.actor.service.dsn) == []


async def test_ordering(depot: Depot) -> None:
    new = NewFulfillment(product_id="sandbox:gems", quantity=5, recipient={"player_id": "p"}, external_id="f-1")
    await survive(depot, lambda tx: actions.order(Work(tx, depot.services, clock.now()), env_of(depot), new), at_least=7)
    assert await depot.purse() == (950, 50)


@pytest.mark.parametrize(("action", "left"), [("cancel", 1_000), ("complete", 950), ("partial", 970), ("fail", 1_000)])
async def test_ending(depot: Depot, action: Any, left: int) -> None:
    ordered = (await depot.order()).ok(201).body
    env, fulfillment_id, now = env_of(depot), UUID(ordered["id"]), clock.now()

    async def end(tx: Tx) -> Any:
        if action == "cancel":
            return await actions.cancel(Work(tx, depot.services, now), env, fulfillment_id)
        return await actions.play(Work(tx, depot.services, now), env, fulfillment_id, action)

    await survive(depot, end, at_least=5)
    assert await depot.purse() == (left, 0)


async def test_what_cannot_be(depot: Depot) -> None:
    done = await depot.done((await depot.order()).ok(201).body)
    for wrong in WRONG:
        with pytest.raises((asyncpg.CheckViolationError, asyncpg.ForeignKeyViolationError)):
            await depot.actor.sql(f"UPDATE fulfillments SET {wrong} WHERE id = $1::uuid", done["id"])  # noqa: S608
    for statement in ("DELETE FROM fulfillments", "TRUNCATE fulfillments"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await depot.actor.sql(statement)
