"""What the doctor says of files and disks."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tollhouse.instance.doctor import host
from tollhouse.kernel import clock
from tollhouse.platform.machine import GIB, Disk
from tollhouse.platform.settings.config import load


def files(data_dir: Path, environ: dict[str, str] | None = None) -> list[tuple[str, str]]:
    environ = {"TOLLHOUSE_DATA_DIR": str(data_dir)} | (environ or {})
    found = host.examine_files(load(environ), environ, data_dir.parent)
    return [(finding.status, finding.advice.partition(",")[0]) for finding in found]


def test_a_private_data_folder_is_well(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert files(folder) == [("warning", "Run `tollhouse serve`")]
    folder.mkdir(mode=0o700)
    (folder / "secret-keys").touch(mode=0o600)
    assert files(folder) == [("ok", "")]


def test_files_that_others_can_read_or_change(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o777)
    keys, settings, secret = folder / "secret-keys", folder / ".env", tmp_path / "token"
    for file in (keys, settings, secret):
        file.touch()
    keys.chmod(0o644)
    settings.write_text("TOLLHOUSE_SMTP_URL=smtp://a:b@relay.example\n")
    settings.chmod(0o644)
    secret.write_text("x" * 40)
    secret.chmod(0o666)
    assert files(folder, {"TOLLHOUSE_METRICS_TOKEN_FILE": str(secret)}) == [
        ("failure", f"Run `chmod go-w {folder}`."),
        ("failure", f"Run `chmod 600 {keys}`"),
        ("warning", f"Run `chmod 600 {settings}`."),
        ("failure", f"Run `chmod o-w {secret}`."),
    ]


def test_an_archive_needs_a_base_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load({"TOLLHOUSE_DATA_DIR": str(tmp_path / "data"), "TOLLHOUSE_WAL_ARCHIVE": str(tmp_path)})

    def statuses() -> list[str]:
        return [finding.status for finding in host.examine_base_backups(settings)]

    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 1, 8, tzinfo=UTC))
    assert statuses() == ["failure"]
    (tmp_path / "base" / "20260102T000000Z").mkdir(parents=True)
    assert statuses() == ["ok"]
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 1, 11, tzinfo=UTC))
    assert statuses() == ["warning"]
    assert host.examine_base_backups(load({"TOLLHOUSE_DATA_DIR": str(tmp_path / "data")})) == []


@pytest.mark.parametrize(
    ("free_gib", "total_gib", "status"),
    [(0.5, 10, "failure"), (0.5, 0.6, "failure"), (2, 100, "warning"), (2, 10, "ok"), (9, 100, "ok")],
)
def test_a_full_disk_is_a_failure(free_gib: float, total_gib: float, status: str) -> None:
    assert host.disk(Disk(Path("/data"), int(total_gib * GIB), int(free_gib * GIB))).status == status
