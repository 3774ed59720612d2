"""What a worker survives, and what it must not survive in silence."""

import asyncio
from typing import Any, cast

import pytest

from tollhouse.http.services import Services
from tollhouse.platform.database.errors import CONNECTION_LOST
from tollhouse.webhooks.delivery.results import DATABASE_ERRORS
from tollhouse.webhooks.delivery.worker import DeliveryWorker


def test_every_way_to_lose_a_connection_is_one_that_a_worker_survives() -> None:
    assert [problem for problem in CONNECTION_LOST if not issubclass(problem, DATABASE_ERRORS)] == []


async def test_a_worker_ends_when_nobody_writes_down_results(services: Services) -> None:
    worker = DeliveryWorker(services)
    worker._results.add(cast("Any", None))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(AttributeError):
        await asyncio.wait_for(worker.run(), 15)
