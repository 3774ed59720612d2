"""A worker of an integrator, which is killed at random lines of the SDK: it refreshes, pays orders and consumes events.

It forks for each life, so that nothing has to be imported again, and prints how each ended.
"""

import os
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from tollhouse_sdk import Database, Feed, FeedEvent, OAuth, Reading, Retries, SqlCheckpoint, SqlIntents, SqlTokens, Tollhouse

SDK = "tollhouse_sdk"
LINES_MAX = 3_000
"""A life of one order and one page of events has about as many lines of the SDK."""
TABLES = (
    "CREATE TABLE orders (id TEXT PRIMARY KEY, payment_id TEXT)",
    "CREATE TABLE processed (position BIGINT NOT NULL, event_id TEXT NOT NULL)",
)


@dataclass(frozen=True)
class Scenario:
    """What the workers share: an application and a database with the tokens, orders, intents and the checkpoint."""

    url: str
    client_id: str
    client_secret: str
    path: str

    @property
    def database(self) -> Database:
        """The database."""
        return Database.sqlite(self.path)

    def client(self) -> Tollhouse:
        """A client of the connection that all workers share. Its tokens live for less than the margin."""
        auth = OAuth(self.client_id, self.client_secret, tokens=SqlTokens(self.database, "shared"))
        return Tollhouse(self.url, auth, retries=Retries(6, 0.05), intents=SqlIntents(self.database))


class KilledAt:
    """Kills the process at a line of the SDK: the one with this number."""

    def __init__(self, lines: int) -> None:
        self._left = lines

    def __call__(self, frame: FrameType, _event: str, _value: Any) -> "KilledAt | None":
        if SDK not in frame.f_code.co_filename:
            return None
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self


def live(scenario: Scenario, *, whole: bool = False) -> None:
    """Finish what was begun, pay an order, and consume events. `whole`: everything that is left."""
    database = scenario.database
    with scenario.client() as tollhouse:
        for _ in tollhouse.resume():
            pass
        while (order := next_order(database)) is not None:
            paid = tollhouse.make_balance_payment(
                idempotency_key=f"order-{order}", amount="0.01", currency="EUR", external_id=order
            )
            with database.transaction() as cursor:
                cursor.execute("UPDATE orders SET payment_id = ? WHERE id = ?", (paid["id"], order))
            if not whole:
                break
        feed = Feed(tollhouse, SqlCheckpoint(database, "shared"), Reading(types=["balance.updated"], limit=3))
        feed.run_in_transaction(record_event, follow=False)


def next_order(database: Database) -> str | None:
    """An order that is not paid yet: often the same for several workers."""
    row = database.one("SELECT id FROM orders WHERE payment_id IS NULL ORDER BY id LIMIT 1")
    return str(row[0]) if row else None


def record_event(event: FeedEvent, cursor: Any) -> None:
    """The effect of an event: a row. Nothing but the checkpoint keeps a second one away."""
    cursor.execute("INSERT INTO processed VALUES (?, ?)", (event.position, event.id))


def main() -> None:
    """Live until it was killed as often as the second argument says. With 0, do all that is left, unharmed."""
    scenario = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Scenario)
    kills, seed = int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)  # noqa: S311 - the moments differ, not the secrets
    killed = 0
    while killed < kills:
        lines = chance.randrange(1, LINES_MAX)
        child = os.fork()
        if child == 0:
            sys.settrace(KilledAt(lines))
            live(scenario)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        print(  # noqa: T201 - its parent reads how each life ended
            "killed" if os.WIFSIGNALED(status) else f"ended {os.waitstatus_to_exitcode(status)}", flush=True
        )
    if kills == 0:
        live(scenario, whole=True)


if __name__ == "__main__":
    main()
