"""The embedded database of an older PostgreSQL is upgraded, with its data, and without pausing payouts."""

import os
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
from tollhouse.instance import supervisor
from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.database import upgrade as database_upgrade
from tollhouse.instance.database.cluster import Cluster
from tollhouse.platform.database.migrations import migrate

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.long]

INSTALLED = [
    folder for major in (17, 16, 15) if (folder := Path(f"/usr/lib/postgresql/{major}")).joinpath("bin/postgres").exists()
]
OLD = [Path(part) for part in os.environ.get("OLD_POSTGRES", "").split(":") if part] or INSTALLED[:1]
"""Folders of older versions of PostgreSQL, with `bin` in each; `OLD_POSTGRES` names others, separated by colons."""


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that does not exist yet, in a home that only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-home-") as home:
        yield Path(home) / "data"


def make_old_cluster(data_dir: Path, binaries: Path) -> Cluster:
    """A cluster of the older PostgreSQL, as an earlier version of Tollhouse would have made it."""
    printed = subprocess.run([binaries / "bin" / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = database_upgrade.VERSION.search(printed)
    assert found is not None
    major = int(found[1])
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


@pytest.mark.skipif(not OLD, reason="no older PostgreSQL is installed, such as postgresql-15: upgrades are untested")
@pytest.mark.parametrize("binaries", OLD, ids=str)
async def test_an_older_database_is_upgraded(data_dir: Path, binaries: Path) -> None:
    old = make_old_cluster(data_dir, binaries)
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
    assert (status, f"The database is of PostgreSQL {old.major}." in talk) == (1, True), talk
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
