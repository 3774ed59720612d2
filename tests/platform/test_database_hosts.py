"""A database URL with several hosts: a host that is silently gone takes its part of the time, not all of it."""

import pytest

from tests.platform.proxy import Proxy
from tests.running import Service
from tollhouse.platform.database import pool as db
from tollhouse.platform.database.pool import Pool, single_host_urls

pytestmark = pytest.mark.long

PID = "SELECT pg_backend_pid()"
SPLIT = {
    "postgresql://db1/tollhouse": ["postgresql://db1/tollhouse"],
    "postgresql://a:b@db1:5433,db2/tollhouse?sslmode=require": [
        "postgresql://a:b@db1:5433/tollhouse?sslmode=require",
        "postgresql://a:b@db2/tollhouse?sslmode=require",
    ],
    "postgresql://db1,[2001:db8::1]:5433/tollhouse": [
        "postgresql://db1/tollhouse",
        "postgresql://[2001:db8::1]:5433/tollhouse",
    ],
    "postgresql://tollhouse@/tollhouse?host=%2Frun%2Fpg": ["postgresql://tollhouse@/tollhouse?host=%2Frun%2Fpg"],
}


@pytest.mark.parametrize("url", SPLIT)
def test_each_host_has_a_url(url: str) -> None:
    assert single_host_urls(url) == SPLIT[url]


async def test_a_silent_host_does_not_keep_the_next_one_from_being_reached(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "CONNECT_TIMEOUT_S", 2.0)
    async with Proxy(service.dsn) as silent, Proxy(service.dsn) as talking:
        silent.silence()
        pool = Pool(f"postgresql://tollhouse@127.0.0.1:{silent.port},127.0.0.1:{talking.port}/tollhouse", 1)
        assert await pool.fetchrow(PID)
        await pool.close()
        assert (silent.accepted, talking.accepted) == (1, 1)


async def test_the_next_connection_begins_with_the_host_that_was_reached(service: Service) -> None:
    async with Proxy(service.dsn) as talking:
        pool = Pool(f"postgresql://tollhouse@127.0.0.1:1,127.0.0.1:{talking.port}/tollhouse", 2)
        async with pool.connection() as one, pool.connection() as other:
            await one.fetchrow(PID)
            await other.fetchrow(PID)
        assert talking.accepted == 2
        await pool.close()
