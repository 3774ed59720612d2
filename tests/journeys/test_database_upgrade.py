"""The embedded database of an older PostgreSQL is upgraded, with its data, and without pausing payouts."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from msgspec import structs

from tests.cast import sign_up
from tests.journeys.test_backup import command
from tests.journeys.test_get_paid import COFFEE
from tests.running import KEY, Service, settings_for
from tollhouse import supervisor
from tollhouse.platform import data_folder, embedded
from tollhouse.platform.cluster import Cluster
from tollhouse.platform.migrations import migrate

pytestmark = pytest.mark.xdist_group("serve")

OLD = next((major for major in (17, 16, 15) if Path(f"/usr/lib/postgresql/{major}/bin/postgres").exists()), None)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that does not exist yet, in a home that only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-home-") as home:
        yield Path(home) / "data"


def make_old_cluster(data_dir: Path, major: int) -> Cluster:
    """A cluster of the older PostgreSQL, as an earlier version of Tollhouse would have made it."""
    binaries = Path(f"/usr/lib/postgresql/{major}")
    cluster = structs.replace(embedded.locate(data_dir), major=major, binaries=binaries)
    supervisor.write_keys(data_dir, KEY)
    options = ["--username=tollhouse", "--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums", "--no-sync"]
    for words, typed in (
        (["initdb", f"--pgdata={cluster.data}", *options], ""),
        (["postgres", "--single", "-D", str(cluster.data), "postgres"], embedded.CREATE),
    ):
        subprocess.run(
            [binaries / "bin" / words[0], *words[1:]],
            input=typed.encode(),
            capture_output=True,
            check=True,
            cwd=cluster.folder,
            user=cluster.uid,
            group=cluster.gid,
            extra_groups=cluster.no_groups,
        )
    data_folder.mark_used(data_dir, cluster.identifier)
    return cluster


@pytest.mark.skipif(OLD is None, reason="no older PostgreSQL is installed, such as postgresql-15: upgrades are untested")
async def test_an_older_database_is_upgraded(data_dir: Path) -> None:
    assert OLD is not None
    old = make_old_cluster(data_dir, OLD)
    server = embedded.launch(old)
    try:
        await migrate(old.application_dsn, old.dsn)
        with Service(settings_for(old.dsn)) as service:
            async with sign_up(service, "alice", "Alice's Coffee") as alice:
                (await alice.post("/payment-links", COFFEE)).ok(201)  # a payment needs PostgreSQL 18
    finally:
        server.stop()

    with pytest.raises(embedded.EmbeddedError, match="tollhouse database upgrade"):
        embedded.start(data_dir)
    upgrade = ("database", "upgrade", "--binaries")
    status, _, talk = command(data_dir, *upgrade, str(embedded.carried_binaries() / "bin"))
    assert (status, f"The database is of PostgreSQL {OLD}." in talk) == (1, True), talk
    status, lines, talk = command(data_dir, *upgrade, str(old.binaries / "bin"))
    assert (status, lines) == (0, ""), talk
    assert "all invariants hold" in talk
    with embedded.borrowed(data_dir) as cluster:
        connection = await asyncpg.connect(cluster.dsn)
        try:
            assert await connection.fetchval("SELECT count(*) FROM payment_links") == 1
            assert not await connection.fetchval("SELECT payouts_are_paused()")
        finally:
            await connection.close()

    shutil.rmtree(cluster.data)  # what left since the upgrade is not in the old database
    with pytest.raises(embedded.EmbeddedError, match="was used before, but its database is missing"):
        embedded.start(data_dir)
    status, _, talk = command(data_dir, *upgrade, str(old.binaries / "bin"))
    assert (status, "has no database of an older PostgreSQL" in talk) == (1, True), talk
