"""What follows an attempt."""

from datetime import timedelta
from typing import Any

import pytest

from tollhouse.kernel.limits import RETRY_AFTER_S
from tollhouse.webhooks.delivery.results import NextAttempt, next_attempt

SCHEDULE = tuple(float(delay) for delay in RETRY_AFTER_S)


def after(**facts: Any) -> NextAttempt:
    start: dict[str, Any] = {"mode": "live", "trigger": "automatic", "error": "http_500", "tries": 0, "lost": 0}
    start["schedule"] = SCHEDULE
    return next_attempt(**{**start, **facts})


@pytest.mark.covers("W-42", "W-45")
def test_live_retries_follow_the_schedule_and_end_after_eight() -> None:
    for tries, delay in enumerate(SCHEDULE):
        for _ in range(50):
            wait = after(tries=tries).delay
            assert wait is not None
            assert 0.8 * delay <= wait.total_seconds() <= 1.2 * delay
    assert after(tries=8) == NextAttempt(None, 1, 0)


@pytest.mark.covers("W-46")
def test_jitter_spreads() -> None:
    waits = [wait.total_seconds() for wait in (after().delay for _ in range(1000)) if wait is not None]
    buckets = [sum(8 + place * 0.4 <= wait < 8 + (place + 1) * 0.4 for wait in waits) for place in range(10)]
    assert sum(buckets) >= 999
    assert max(buckets) < 300
    assert min(buckets) > 30


@pytest.mark.covers("W-43")
@pytest.mark.parametrize(
    "facts", [{"mode": "test"}, {"trigger": "test"}, {"trigger": "test", "mode": "test"}, {"error": None}]
)
def test_test_mode_and_success_end_the_schedule(facts: dict[str, Any]) -> None:
    assert after(**facts).delay is None


def test_a_redelivery_leaves_the_schedule_alone() -> None:
    assert after(trigger="manual") == NextAttempt(None, 0, 0)


@pytest.mark.covers("W-32", "W-33")
@pytest.mark.parametrize(("said", "low", "high"), [(1, 8, 12), (15, 15, 15), (20, 20, 20), (3600, 20, 20), (None, 8, 12)])
def test_retry_after_counts_between_one_and_two_times_the_delay(said: float | None, low: float, high: float) -> None:
    wait = after(retry_after_s=said).delay
    assert wait is not None
    assert low <= wait.total_seconds() <= high


@pytest.mark.covers("W-48")
def test_two_lost_workers_use_up_nothing_and_the_third_does() -> None:
    for trigger in ("automatic", "manual", "test"):
        for lost in (0, 1):
            assert after(error="worker_lost", trigger=trigger, lost=lost, tries=8) == NextAttempt(
                timedelta(0), 0, 1, keeps_redelivery=True
            )
        assert after(error="worker_lost", trigger=trigger, lost=2, tries=8).delay is None
    assert after(error="worker_lost", lost=2).tries == 1
