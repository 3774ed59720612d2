"""What `/readyz` says of the parts of an instance."""

from datetime import timedelta

from tests.running import Service
from tollhouse.api.health_store import read_parts
from tollhouse.kernel import clock
from tollhouse.key_checks_store import ADD
from tollhouse.platform.db import Pool
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.setting_values import key_ring

RINGS = (("readiness", "A"), ("readiness", "Q"), ("unknown", "A"))
WORKER = """
    INSERT INTO worker_signs (worker_id, host, pid, version, first_seen_at, last_seen_at)
    VALUES (gen_random_uuid(), 'test_readiness', 1, '1', $1, $1)
"""


async def test_the_state_of_each_part(service: Service) -> None:
    now = clock.now()
    keys, other, unknown = (KeyRing(key_ring(f"{name}:{char * 43}")) for name, char in RINGS)
    services = service.create_services(connections=1)
    pool = Pool(service.dsn, 1)  # one that creates no partitions
    try:
        await services.db.execute(WORKER, now)
        await services.db.execute(ADD, keys.in_use, keys.check_values[keys.in_use], now)
        parts = await read_parts(services.db, keys, now)
        assert (parts.database, parts.schema, parts.keys, parts.partitions, parts.worker) == ("ok",) * 5
        assert (await read_parts(pool, other, now)).keys == "wrong"
        assert (await read_parts(pool, unknown, now)).keys == "wrong"
        later = await read_parts(pool, keys, now + timedelta(days=40_000))
        assert (later.partitions, later.worker) == ("missing", "missing")
    finally:
        await services.db.execute("DELETE FROM worker_signs WHERE host = 'test_readiness'")
        await services.db.execute("DELETE FROM secret_keys WHERE key_id = 'readiness'")
        await services.db.close()
        await pool.close()
