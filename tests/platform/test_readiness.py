"""What `/readyz` says of the parts of an instance."""

from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from tests.running import Service
from tollhouse.instance.api.health_store import read_parts
from tollhouse.instance.start_checks_store import ADD
from tollhouse.kernel import clock
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.machine import GIB, Disk
from tollhouse.platform.settings.values import key_ring

RINGS = (("readiness", "A"), ("readiness", "Q"), ("unknown", "A"))
WORKER = """
    INSERT INTO worker_signs (worker_id, host, pid, version, first_seen_at, last_seen_at)
    VALUES (gen_random_uuid(), 'test_readiness', 1, '1', $1, $1)
"""


async def test_the_state_of_each_part(service: Service) -> None:
    now, folder = clock.now(), service.settings.data_dir
    keys, other, unknown = (KeyRing(key_ring(f"{name}:{char * 43}")) for name, char in RINGS)
    services = service.create_services(connections=1)
    pool = Pool(service.dsn, 1)  # one that creates no partitions
    try:
        await services.db.execute(WORKER, now)
        await services.db.execute(ADD, keys.in_use, keys.check_values[keys.in_use], now)
        parts = await read_parts(services.db, keys, now, folder)
        assert (parts.database, parts.schema, parts.keys, parts.partitions, parts.worker) == ("ok",) * 5
        assert (await read_parts(pool, other, now, folder)).keys == "wrong"
        assert (await read_parts(pool, unknown, now, folder)).keys == "wrong"
        later = await read_parts(pool, keys, now + timedelta(days=40_000), folder)
        assert (later.partitions, later.worker) == ("missing", "missing")
    finally:
        await services.db.execute("DELETE FROM worker_signs WHERE host = 'test_readiness'")
        await services.db.execute("DELETE FROM secret_keys WHERE key_id = 'readiness'")
        await services.db.close()
        await pool.close()


@pytest.mark.parametrize(
    ("total_gib", "free_gib", "state"),
    [
        (100, 50, "ok"),
        (100, 5, "ok"),
        (100, 4.9, "low"),
        (20, 4.9, "ok"),
        (20, 1.9, "low"),
        (1000, 0.9, "full"),
        (2, 0.9, "full"),
    ],
)
def test_the_state_of_a_disk(total_gib: float, free_gib: float, state: str) -> None:
    assert Disk(Path("/"), int(total_gib * GIB), int(free_gib * GIB)).state == state


async def test_readiness_tells_about_the_disk(service: Service) -> None:
    async with aiohttp.ClientSession() as http, http.get(f"{service.url}/readyz") as response:
        assert (await response.json())["parts"]["disk"] in {"ok", "low", "full"}
