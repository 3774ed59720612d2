"""The embedded database starts wherever its data folder lies, and never mistakes a stranger's process or a lost folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.database.cluster import MAJOR


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that does not exist yet, in a home that only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-home-") as home:
        yield Path(home) / "share" / "tollhouse"


@pytest.mark.long
def test_a_stale_lock_file_with_a_strangers_number_does_not_prevent_the_start(data_dir: Path) -> None:
    server = embedded.start(data_dir)
    assert not (data_dir / "postgres").is_symlink()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    while server.alive:
        pass
    account = server.cluster.account
    stranger = subprocess.Popen(["sleep", "600"], user=account.pw_uid if account else None)
    try:
        for file in (server.cluster.data / "postmaster.pid", server.cluster.sockets / ".s.PGSQL.5432.lock"):
            _, *rest = file.read_text().splitlines()
            file.write_text("\n".join([str(stranger.pid), *rest, ""]))
        embedded.Server(server.cluster, None).stop()
        assert stranger.poll() is None
        again = embedded.start(data_dir)
        assert again.cluster.responses
        again.stop()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.long
def test_no_database_is_created_where_one_was_lost(data_dir: Path) -> None:
    embedded.start(data_dir).stop()
    shutil.rmtree(data_dir / "postgres")
    with pytest.raises(embedded.EmbeddedError, match="was used before"):
        embedded.start(data_dir)
    assert not (data_dir / "postgres" / f"data-{MAJOR}").exists()


def test_no_database_is_created_beside_keys_of_another(data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    (data_dir / "secret-keys").write_text("k1:key")
    with pytest.raises(embedded.EmbeddedError, match="was used before"):
        embedded.start(data_dir)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the database as somebody else")
def test_an_earlier_link_is_followed_and_a_dangling_one_refused(data_dir: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tollhouse-elsewhere-") as outside:
        Path(outside).chmod(0o711)
        account = embedded.locate(data_dir / "other").account
        assert account is not None
        elsewhere = Path(outside) / "database"
        elsewhere.mkdir(mode=0o700)
        os.chown(elsewhere, account.pw_uid, account.pw_gid)
        data_dir.mkdir(parents=True, exist_ok=True)
        (data_dir / "postgres").symlink_to(elsewhere)
        assert data_folder.database_folder(data_dir, account) == elsewhere
        elsewhere.rmdir()
        with pytest.raises(embedded.EmbeddedError, match="has no database"):
            embedded.start(data_dir)
