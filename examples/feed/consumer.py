"""Reads the events of a merchant without a public URL, and books each payment once in an SQLite file."""

import json
import os
import sys
from typing import Any

from tollhouse_sdk import Database, Feed, FeedEvent, Reading, SqlCheckpoint, Tollhouse

TYPES = ("payment.succeeded", "payment.refunded")
TABLE = """
CREATE TABLE IF NOT EXISTS bookings (
    event_id TEXT PRIMARY KEY, position INTEGER NOT NULL, type TEXT NOT NULL, payment_id TEXT NOT NULL,
    order_id TEXT, amount TEXT NOT NULL, currency TEXT NOT NULL
)
"""


def book(event: FeedEvent, cursor: Any) -> None:
    """Insert a booking in the transaction that moves the checkpoint: after a crash, both are there or neither."""
    payment = json.loads(event.body)["data"]["object"]
    amount = payment["amount_refunded"] if event.type == "payment.refunded" else payment["amount"]
    cursor.execute(
        "INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?, ?)",
        (event.id, event.position, event.type, payment["id"], payment["external_id"], amount, payment["currency"]),
    )
    print(event.position, event.type, amount, payment["currency"], flush=True)  # noqa: T201 - what the program is for


def main() -> None:
    """Read from the checkpoint on. `--once`: end where there is nothing more."""
    database = Database.sqlite(os.environ.get("FEED_DATABASE", "feed.db"))
    database.create_tables()
    with database.transaction() as cursor:
        cursor.execute(TABLE)
    with Tollhouse(os.environ["TOLLHOUSE_URL"], os.environ["TOLLHOUSE_KEY"]) as tollhouse:
        feed = Feed(tollhouse, SqlCheckpoint(database, "bookings"), Reading(types=TYPES))
        feed.run_in_transaction(book, follow="--once" not in sys.argv)


if __name__ == "__main__":
    main()
