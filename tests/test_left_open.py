"""A failed test that leaves a connection open neither stops the run nor lets other tests wait for its locks."""

import asyncio
import socket
import warnings

import asyncpg
import pytest
import uvloop

from tests.left_open import close_left_open
from tests.running import Service


async def test_connections_of_a_failed_test_are_closed(service: Service) -> None:
    async def fail() -> None:
        left = await asyncpg.connect(service.dsn)
        await left.execute("BEGIN; SELECT pg_advisory_xact_lock(20260001)")
        raise ValueError

    with pytest.raises(ValueError) as failed:  # noqa: PT011 - raised above
        await fail()
    assert [line.split(",")[0] for line in close_left_open(failed.tb)] == ["left in fail"]
    assert close_left_open(failed.tb) == []
    other = await asyncpg.connect(service.dsn)
    await asyncio.wait_for(other.execute("SELECT pg_advisory_xact_lock(20260001)"), 30)
    await other.close()


def test_an_open_connection_does_not_stop_its_loop_from_closing() -> None:
    """As an error, the warning would leave the connection open, and uvloop would wait for it without end."""
    warnings.warn("unclosed resource <UnixTransport closed=False>", ResourceWarning, stacklevel=1)
    loop = uvloop.new_event_loop()
    ours, theirs = socket.socketpair()
    loop.run_until_complete(loop.create_unix_connection(asyncio.Protocol, sock=ours))
    loop.close()
    theirs.close()
