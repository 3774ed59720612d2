"""The consumer of the feed: each payment is booked once, however often it is started."""

import asyncio
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor
from tests.examples.running import EXAMPLES, until


@pytest.mark.long
async def test_each_payment_is_booked_once(alice: Actor, tmp_path: Path) -> None:
    settings = {
        "TOLLHOUSE_URL": alice.service.url,
        "TOLLHOUSE_KEY": await alice.key(),
        "FEED_DATABASE": str(tmp_path / "feed.db"),
    }
    await _pay(alice, "order-1")
    await until(lambda: _has_position(alice))
    for _ in range(2):
        process = await _start("--once", **settings)
        assert await process.wait() == 0
    assert [(row[2], row[4]) for row in _bookings(tmp_path)] == [("payment.succeeded", "order-1")]

    following = await _start(**settings)
    await _pay(alice, "order-2")
    try:
        await until(lambda: _is_booked(tmp_path, "order-2"))
    finally:
        following.kill()
        await following.wait()
    again = await _start("--once", **settings)
    assert await again.wait() == 0
    assert [row[4] for row in _bookings(tmp_path)] == ["order-1", "order-2"]


async def _pay(alice: Actor, order: str) -> None:
    body = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR", "external_id": order}
    link = (await alice.post("/payment-links", body)).ok(201).body
    (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})).ok()


async def _has_position(alice: Actor) -> bool:
    """Positions are given after the commit."""
    page = (await alice.get("/events?types=payment.succeeded")).ok().body
    return bool(page["events"])


async def _start(*arguments: str, **settings: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "consumer.py", *arguments)
    return await asyncio.create_subprocess_exec(*command, cwd=EXAMPLES / "feed", env={**os.environ, **settings})


async def _is_booked(folder: Path, order: str) -> bool:
    return any(row[4] == order for row in _bookings(folder))


def _bookings(folder: Path) -> list[Any]:
    database = sqlite3.connect(folder / "feed.db", timeout=30)
    try:
        return database.execute("SELECT * FROM bookings ORDER BY position").fetchall()
    finally:
        database.close()
