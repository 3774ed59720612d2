"""Receivers that want to keep a call or to fill us: each is given up, and of what they say little is heard."""

import asyncio
from typing import Any

import pytest
from chaos.hostile_responses import BEFORE_TLS, QUICK_KINDS, SLOW_KINDS
from chaos.receivers import Receivers

from tests.running import settings_for
from tests.webhooks.events.raw import LOOPS
from tollhouse.platform.outgoing.outbound import Outbound

KINDS = QUICK_KINDS | SLOW_KINDS
HEAD_SAID = {
    "endless body", "endless chunks", "endless trailers", "endless chunk extension", "reset after the head", "gzip bomb",
    "drip of a body", "drip of chunks",
}  # fmt: skip
KEEPS_US = {"silence", BEFORE_TLS, "drip of a head", "drip of a body", "drip of chunks", "drip of interim answers"}
"""What only the deadline ends. The rest is over when enough has been heard."""
BUFFERS_BYTES = 16 * 1024 * 1024
"""More than the sockets between the two hold; what is said for as long as a deadline would be a hundred times that."""
CALLS = 5


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The loop of every platform, and the worker's."""
    return "asyncio", request.param


@pytest.mark.covers("W-35", "W-36", "W-37", "W-38", "W-39")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_hostile_receiver_is_given_up(kind: str) -> None:
    deadline_s = (2 if kind in HEAD_SAID else 0.3) if kind in KEEPS_US else 20
    async with (
        Receivers(["127.0.0.1"], KINDS[kind]) as receiver,
        Outbound(settings_for("postgresql:///nowhere"), deadline_s=deadline_s) as outbound,
    ):
        url = f"{'https' if kind == BEFORE_TLS else 'http'}://127.0.0.1:{receiver.port}/hook"
        ended = await asyncio.gather(*(outbound.post(url, b"{}", {}) for _ in range(CALLS)))
        async with asyncio.timeout(20):
            while receiver.open or receiver.calls < CALLS:
                await asyncio.sleep(0.01)
    errors = {attempt.error for attempt in ended}
    if kind in HEAD_SAID:
        assert errors == {None}
    else:
        assert errors == {"timeout"} if kind in KEEPS_US else {"bad_response"}
    assert receiver.most_sent_bytes < BUFFERS_BYTES


@pytest.mark.covers("W-37")
async def test_one_who_talks_without_end_keeps_nobody_else_waiting() -> None:
    async with (
        Receivers(["127.0.0.1"], KINDS["flood of interim answers"]) as flood,
        Receivers(["127.0.0.1"]) as healthy,
        Outbound(settings_for("postgresql:///nowhere")) as outbound,
    ):
        talking = [asyncio.create_task(outbound.post(flood.urls[0], b"{}", {})) for _ in range(CALLS)]
        for _ in range(3 * CALLS):
            assert (await outbound.post(healthy.urls[0], b"{}", {})).succeeded
        assert {one.error for one in await asyncio.gather(*talking)} == {"bad_response"}
