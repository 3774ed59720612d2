"""SQL of the readiness probe. One statement, which costs the same however much data there is: anybody may ask."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tollhouse.kernel.limits import WORKER_SILENT_AFTER_S
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.machine import disk_of

RUNNING_WITHIN = timedelta(seconds=WORKER_SILENT_AFTER_S)
PARTITIONS_AHEAD = timedelta(hours=1)
PARTS = """
    SELECT EXISTS (SELECT FROM worker_signs WHERE last_seen_at > $1::timestamptz - $2::interval) AS has_worker,
           (SELECT bool_and(to_regclass(t.name || '_' || to_char(partition_start(t.step, at.moment), t.suffix)) IS NOT NULL)
            FROM partitioned_tables t, (VALUES ($1::timestamptz), ($1::timestamptz + $3::interval)) AS at (moment)
           ) AS has_partitions,
           (SELECT check_value FROM secret_keys WHERE key_id = $4 AND given_up_at IS NULL) AS check_value
"""


Presence = Literal["ok", "missing"]
"""Whether something is there.

ok: It is.
missing: It is not.
"""


class ReadinessParts(Struct, frozen=True):
    """What the instance needs. Without a worker nothing is delivered; without the others requests fail.

    `keys`: the key in use is the one that this database knows. `partitions`: rows of the next hour have one. `disk`: room
    for the data folder of this machine, where the embedded database is.
    """

    database: Literal["ok"]
    """The database answers."""
    schema: Literal["ok"]
    """The schema of the database has every migration of this version."""
    keys: Literal["ok", "wrong"]
    """Whether the key ring decrypts what the database holds.

    ok: It does.
    wrong: It is another key ring.
    """
    partitions: Presence
    """Whether the tables have room for the next hour."""
    worker: Presence
    """Whether a worker reported in the last minutes; without one nothing is delivered."""
    disk: Literal["ok", "low", "full"]
    """How much space is left on the disk.

    ok: Enough.
    low: Little.
    full: Too little to write.
    """


async def read_parts(db: Pool, keys: KeyRing, now: datetime, data_dir: Path) -> ReadinessParts:
    """The state of all parts, given that the database responds and has the right schema."""
    row = await db.read_row(PARTS, now, RUNNING_WITHIN, PARTITIONS_AHEAD, keys.in_use)
    if row is None:
        raise AssertionError("the statement returns one row")
    return ReadinessParts(
        "ok",
        "ok",
        "ok" if row["check_value"] == keys.check_values[keys.in_use] else "wrong",
        "ok" if row["has_partitions"] else "missing",
        "ok" if row["has_worker"] else "missing",
        "ok" if (disk := disk_of(data_dir)) is None else disk.state,
    )
