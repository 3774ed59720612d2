"""Time that passes while nobody works, and clocks that are wrong: the schedule is the database's."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, responses
from tollhouse.kernel import clock


def with_schedule(harness: Harness, *seconds: float) -> Harness:
    settings = msgspec.structs.replace(harness.services.settings, webhook_retry_schedule=seconds)
    return Harness(msgspec.structs.replace(harness.services, settings=settings), harness.env)


@pytest.mark.long
@pytest.mark.covers("W-47")
async def test_a_restart_while_a_retry_waits_changes_nothing(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    live = with_schedule(live, 3_600)
    receiver.answer = responses(500, 200)
    async with live.working():
        event_id = await live.record(receiver.url)
        await live.until(event_id, "retrying")
    planned = await live.planned(event_id)
    assert planned is not None
    async with live.working():
        other = await live.record(receiver.url)
        await live.until(other, "delivered")
        assert await live.planned(event_id) == planned
    assert len(receiver.received) == 2
    await live.execute("UPDATE webhook_deliveries_later SET run_at = now()")
    async with live.working():
        await live.until(event_id, "delivered")
    assert await live.history(event_id) == [(1, "automatic", "http_500"), (2, "automatic", None)]
    assert not await live.broken()


@pytest.mark.covers("W-51")
@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("retry_after_s", [None, 15])
async def test_a_wrong_clock_of_the_worker_does_not_move_the_schedule(
    live: Harness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, hours: int, retry_after_s: int | None
) -> None:
    await live.secret()
    live = with_schedule(live, 10)
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=retry_after_s or 0), usegmt=True)
    receiver.answer = responses(503, **({} if retry_after_s is None else {"Retry_After": later}))
    event_id = await live.record(receiver.url)
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    async with live.working():
        row = await live.until(event_id, "retrying")
    attempt = await live.services.db.fetchrow("SELECT * FROM webhook_attempts WHERE event_id = $1", event_id)
    assert attempt is not None
    assert attempt["started_at"] - row["created_at"] < timedelta(minutes=1)
    wait_s = (row["next_attempt_at"] - attempt["started_at"]).total_seconds()
    assert (8 <= wait_s <= 14) if retry_after_s is None else (12 <= wait_s <= 17)
    assert len(receiver.received) == 1
