"""The embedded database in a newer major version of PostgreSQL: a new cluster beside the old one, which stays as it is.

postgres/data-17/             the old cluster, until the operator deletes it
postgres/upgrading/data-18/   the new cluster until it is complete
postgres/data-18/             the new cluster
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from msgspec import structs

from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.database.cluster import MAJOR, Cluster
from tollhouse.instance.database.data_folder import EmbeddedError

ASIDE, DUMP = "upgrading", "upgrading.dump"
VERSION = re.compile(r"\(PostgreSQL\) (\d+)")


def find_old(data_dir: Path, binaries: Path) -> Cluster:
    """The cluster of the older PostgreSQL, with its programs. Raises `EmbeddedError` if there is nothing to upgrade."""
    cluster = embedded.locate(data_dir)
    if (cluster.data / "PG_VERSION").exists():
        raise EmbeddedError(f"The database in {cluster.data} is of PostgreSQL {MAJOR} already.")
    for major in cluster.older_majors:
        old = structs.replace(cluster, major=major)
        if data_folder.has_used(data_dir.absolute(), old.identifier):
            _require_major(binaries, major)
            return structs.replace(old, binaries=binaries.absolute().parent)
    raise EmbeddedError(f"{cluster.folder} has no database of an older PostgreSQL that belongs to this data folder.")


def start(cluster: Cluster) -> embedded.Server:
    """The running server of a cluster, after one that an interrupted upgrade has left behind."""
    embedded.Server(cluster, None).stop()
    return embedded.launch(cluster)


def begin_new(data_dir: Path) -> Cluster:
    """A new, empty cluster that takes the place of the old one later."""
    cluster = embedded.locate(data_dir)
    cluster = structs.replace(cluster, folder=cluster.folder / ASIDE)
    embedded.Server(cluster, None).stop()
    shutil.rmtree(cluster.folder, ignore_errors=True)
    cluster.folder.mkdir(mode=0o700)
    if cluster.account is not None:
        os.chown(cluster.folder, cluster.account.pw_uid, cluster.account.pw_gid)
    embedded.initialise(cluster)
    return cluster


def replace(data_dir: Path, old: Cluster, new: Cluster) -> None:
    """Use the new cluster, which is stopped, from now on. An archive of WAL belongs to the old one."""
    identifier = new.identifier
    data_folder.expect(data_dir, old.identifier, identifier)
    (data_dir / data_folder.ARCHIVE_ID).unlink(missing_ok=True)
    new.data.rename(old.folder / new.data.name)
    data_folder.mark_used(data_dir, identifier)
    shutil.rmtree(new.folder, ignore_errors=True)


def _require_major(binaries: Path, major: int) -> None:
    try:
        done = subprocess.run([binaries / "postgres", "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        raise EmbeddedError(
            f"{binaries} has no program postgres. Name the folder of PostgreSQL {major}'s programs."
        ) from None
    found = VERSION.search(done.stdout)
    if found is None or found[1] != str(major):
        raise EmbeddedError(f"{binaries} is of {done.stdout.strip()}. The database is of PostgreSQL {major}.")
