"""The cause of each alert, made as it comes to be; where it needs days, rows are made older instead of waiting."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from unittest.mock import patch
from uuid import UUID

import aiohttp
from msgspec import Struct
from tests.cast import PASSWORD
from tests.pages.console.test_operator import in_review

from chaos.alert_installation import Installation, kill
from chaos.producer import Destination
from chaos.receivers import RESPONSE_OK, Connection, Receivers, hosts
from tollhouse.kernel.ids import new_id

WRITES_PER_S = 8
MANY_REQUESTS = 200
SLOW_S, BETWEEN_S = 1.6, 0.1
BACKLOG, DELIVERED_WITHIN_S = 40, 90.0
AGO_MS = 2 * 3_600_000
UUID7_TIME_SHIFT = 80
RESPONSE_REFUSED = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
CHANGE_BALANCE = """
    UPDATE ledger_accounts SET balance = balance {} 1
    WHERE id = (SELECT min(id) FROM ledger_accounts WHERE balance > 1 AND code = 'available')
"""
LOCK_LINKS = "LOCK TABLE payment_links IN ACCESS EXCLUSIVE MODE"
TODAYS_PARTITIONS = """
    SELECT format('%I', c.relname) AS name FROM partitioned_tables t
    JOIN pg_inherits i ON i.inhparent = to_regclass(t.name) JOIN pg_class c ON c.oid = i.inhrelid
    WHERE t.name = (SELECT name FROM partitioned_tables ORDER BY step LIMIT 1)
"""


class Cause(Struct, frozen=True):
    """What is done, the alerts that must fire, and how it is done and undone."""

    what: str
    alerts: Sequence[str]
    make: Callable[[Installation], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def web_killed(installation: Installation) -> AsyncIterator[None]:
    """Its metrics go with it."""
    kill(installation.web)
    yield
    await installation.start_web()


@asynccontextmanager
async def database_stopped(installation: Installation) -> AsyncIterator[None]:
    """Web and worker stay."""
    await installation.stop_database()
    yield
    await installation.start_database()


@asynccontextmanager
async def worker_stopped(installation: Installation) -> AsyncIterator[None]:
    """The last one."""
    await installation.stop_worker()
    yield
    installation.start_worker()


@asynccontextmanager
async def read_only_under_writes(installation: Installation) -> AsyncIterator[None]:
    """Every write is 503."""
    async with installation.traffic(WRITES_PER_S), installation.read_only():
        yield


@asynccontextmanager
async def table_locked_again_and_again(installation: Installation) -> AsyncIterator[None]:
    """Requests wait for the lock of somebody else, shortly enough to succeed."""

    async def lock() -> None:
        while True:
            async with installation.lock_held(LOCK_LINKS):
                await asyncio.sleep(SLOW_S)
            await asyncio.sleep(BETWEEN_S)

    async with installation.traffic(WRITES_PER_S):
        locking = asyncio.create_task(lock())
        yield
        locking.cancel()
        await asyncio.gather(locking, return_exceptions=True)


@asynccontextmanager
async def table_locked_under_many_requests(installation: Installation) -> AsyncIterator[None]:
    """All connections wait for the lock."""
    headers = {"X-API-Key": await installation.merchant.key()}
    url = f"{installation.service.url}/api/v2/integration/payment-links"

    async def read(http: aiohttp.ClientSession) -> None:
        while True:
            async with http.get(url, headers=headers) as response:
                await response.read()

    connector = aiohttp.TCPConnector(limit=MANY_REQUESTS)
    async with installation.lock_held(LOCK_LINKS), aiohttp.ClientSession(connector=connector) as http:
        reading = [asyncio.create_task(read(http)) for _ in range(MANY_REQUESTS)]
        yield
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


@asynccontextmanager
async def books_damaged(installation: Installation) -> AsyncIterator[None]:
    """A balance is not the sum of its entries."""
    await installation.change(CHANGE_BALANCE.format("+"))
    await installation.restart_worker()
    yield
    await installation.change(CHANGE_BALANCE.format("-"))
    await installation.restart_worker()


@asynccontextmanager
async def check_fails(installation: Installation) -> AsyncIterator[None]:
    """The last good check was two hours ago, and the worker cannot finish another one."""
    await installation.change("ALTER TABLE ledger_entries RENAME TO ledger_entries_away")
    await installation.restart_worker()
    await installation.change("UPDATE invariant_watch SET looked_at = looked_at - interval '2 h'")
    yield
    await installation.change("ALTER TABLE ledger_entries_away RENAME TO ledger_entries")
    await installation.restart_worker()


class Patient:
    """A receiver that is ill until it is `well`; then it answers at once, also who still waits."""

    def __init__(self, network: int, answer_after_s: float, response: bytes = RESPONSE_OK) -> None:
        self._well = asyncio.Event()
        self._answer_after_s = answer_after_s
        self._response = response
        self.receivers = Receivers(hosts(network, 1), self._behave)

    async def recover(self, installation: Installation) -> None:
        """Be well, and get what waits."""
        self._well.set()
        await installation.change("UPDATE webhook_deliveries_later SET run_at = now()")
        if await installation.testbed.wait_until_delivered(DELIVERED_WITHIN_S):
            raise RuntimeError("a receiver that is well does not get its events")

    async def _behave(self, connection: Connection) -> None:
        while await connection.request():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._well.wait(), self._answer_after_s)
            await connection.send(RESPONSE_OK if self._well.is_set() else self._response)


@asynccontextmanager
async def deliveries_overdue(installation: Installation) -> AsyncIterator[None]:
    """Many events for a receiver that takes seconds for each."""
    slow = Patient(30, answer_after_s=5)
    async with slow.receivers as receivers:
        to = Destination(installation.destination.env, receivers.urls[0])
        await asyncio.gather(*(installation.producer.record(to) for _ in range(BACKLOG)))
        await installation.change("UPDATE webhook_deliveries SET run_at = run_at - interval '1 h' WHERE lease_until IS NULL")
        yield
        await slow.recover(installation)


@asynccontextmanager
async def worker_killed_while_delivering(installation: Installation) -> AsyncIterator[None]:
    """Its attempts have no result."""
    hanging = Patient(31, answer_after_s=3600)
    async with hanging.receivers as receivers:
        await installation.producer.record(Destination(installation.destination.env, receivers.urls[0]))
        while not receivers.calls:
            await asyncio.sleep(0.05)
        kill(installation.worker)
        installation.start_worker()
        yield
        await hanging.recover(installation)


@asynccontextmanager
async def job_fails(installation: Installation) -> AsyncIterator[None]:
    """The table of one job was renamed."""
    await installation.change("ALTER TABLE webhook_redelivery_runs RENAME TO runs_away")
    yield
    await installation.change("ALTER TABLE runs_away RENAME TO webhook_redelivery_runs")
    await installation.restart_worker()  # which checks at once: a check may have noticed that the table was missing


@asynccontextmanager
async def receiver_refuses(installation: Installation) -> AsyncIterator[None]:
    """An event of two hours ago was refused whenever it was sent."""
    refusing = Patient(32, answer_after_s=0, response=RESPONSE_REFUSED)
    async with refusing.receivers as receivers:
        with patch("tollhouse.webhooks.events.record.new_id", two_hours_ago):
            await installation.producer.record(Destination(installation.destination.env, receivers.urls[0]))
        yield
        await refusing.recover(installation)


def two_hours_ago() -> UUID:
    """An ID as of two hours ago."""
    return UUID(int=new_id().int - (AGO_MS << UUID7_TIME_SHIFT))


@asynccontextmanager
async def payouts_paused(installation: Installation) -> AsyncIterator[None]:
    """By an operator."""
    await installation.operate("payouts", "pause", "--reason", "A look at the books")
    yield
    await installation.operate("payouts", "resume", "--nothing-lost", "--reason", "All is well")


@asynccontextmanager
async def partitions_dropped(installation: Installation) -> AsyncIterator[None]:
    """Of the table with the shortest partitions."""
    names = [row["name"] for row in await installation.service.sql(TODAYS_PARTITIONS)]
    await installation.change(*(f"DROP TABLE {name}" for name in names))
    yield
    await installation.restart_worker()


@asynccontextmanager
async def relay_down(installation: Installation) -> AsyncIterator[None]:
    """An email of half an hour ago was tried again and again."""
    await installation.postbox.__aexit__()
    (await installation.merchant.form("/forgot", {"email": installation.merchant.email})).ok()
    await installation.change("UPDATE mails SET created_at = created_at - interval '30 min'")
    yield
    await installation.postbox.__aenter__()
    await installation.change("DELETE FROM mails WHERE next_attempt_at IS NOT NULL")


@asynccontextmanager
async def review_waits(installation: Installation) -> AsyncIterator[None]:
    """A live project of yesterday waits for an operator."""
    await installation.merchant.dashboard("POST", "/session/confirm", {"password": PASSWORD})  # signed in long ago
    project_id = await in_review(installation.merchant)
    await installation.change("UPDATE projects SET updated_at = updated_at - interval '25 h' WHERE status = 'in_review'")
    yield
    await installation.operate("projects", "approve", project_id)


@asynccontextmanager
async def payout_overdue(installation: Installation) -> AsyncIterator[None]:
    """A file went to the bank ten days ago, and no statement shows its payout."""
    await installation.change("UPDATE bank_batches SET exported_at = exported_at - interval '240 h'")
    yield
    await installation.change("UPDATE bank_batches SET exported_at = exported_at + interval '240 h'")


@asynccontextmanager
async def statements_missing(installation: Installation) -> AsyncIterator[None]:
    """The last one was imported ten days ago."""
    await installation.change("UPDATE bank_statements SET imported_at = imported_at - interval '240 h'")
    yield
    await installation.change("UPDATE bank_statements SET imported_at = imported_at + interval '240 h'")


@asynccontextmanager
async def rail_differs(installation: Installation) -> AsyncIterator[None]:
    """Coins were booked that nobody put into the wallet."""
    reason = ("--reason", "Booked twice")
    await installation.operate("rail-balances", "float", "bitcoin", "BTC", "0.5", *reason)
    await installation.change("UPDATE rail_measurements SET next_at = now()")
    yield
    await installation.operate("rail-balances", "float", "bitcoin", "BTC", "-0.5", *reason)
    await installation.change("UPDATE rail_measurements SET next_at = now()")


@asynccontextmanager
async def node_down(installation: Installation) -> AsyncIterator[None]:
    """The rail was last measured two hours ago."""
    await installation.stop_node()
    await installation.change("UPDATE rail_balances SET measured_at = measured_at - interval '2 h'")
    yield
    await installation.start_node()
    await installation.restart_worker()
    await installation.change("UPDATE rail_measurements SET next_at = now()")


ONE_BY_ONE = (
    Cause("a web process is killed", ["TollhouseDown"], web_killed),
    Cause("PostgreSQL is stopped", ["TollhouseDatabaseDown"], database_stopped),
    Cause("the last worker is stopped", ["TollhouseNoWorker"], worker_stopped),
    Cause("the database accepts no writes, under load", ["TollhouseServerErrors"], read_only_under_writes),
    Cause("a table is locked for 1.6 s at a time", ["TollhouseSlowRequests"], table_locked_again_and_again),
    Cause("a table stays locked, under 200 requests", ["TollhouseConnectionsExhausted"], table_locked_under_many_requests),
    Cause("a balance was changed by hand", ["TollhouseInvariantBroken"], books_damaged),
    Cause("no check can finish", ["TollhouseInvariantsNotChecked"], check_fails),
    Cause("a receiver takes 5 s for each event", ["TollhouseDeliveriesLate"], deliveries_overdue),
    Cause("the worker is killed while it delivers", ["TollhouseAttemptsLost"], worker_killed_while_delivering),
    Cause("partitions were dropped", ["TollhousePartitionsMissing"], partitions_dropped),
    Cause("the Bitcoin node is down", ["TollhouseRailNotMeasured"], node_down),
)
AT_ONCE = (
    Cause("the table of a job is missing", ["TollhouseJobFailing"], job_fails),
    Cause("a receiver refuses every event", ["TollhouseWebhooksFailing"], receiver_refuses),
    Cause("payouts are paused", ["TollhousePayoutsPaused"], payouts_paused),
    Cause("the mail relay is down", ["TollhouseEmailsLate"], relay_down),
    Cause("a project waits for an operator", ["TollhouseReviewsWaiting"], review_waits),
    Cause("a payout is on no statement", ["TollhousePayoutsOverdue"], payout_overdue),
    Cause("no statement is imported", ["TollhouseStatementsMissing"], statements_missing),
    Cause("coins were booked that do not exist", ["TollhouseRailDiffers"], rail_differs),
)
"""These concern different parts, and some take hours of the rules."""
CAUSES = (*((one,) for one in ONE_BY_ONE), AT_ONCE)
"""In groups that are made at once."""
