"""What commands say of themselves: version, keys that differ, errors as readers of the log need them, reasons in words."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import pytest

from tests.command import tollhouse
from tests.running import Service, migrated_database, new_database
from tollhouse.instance.database import embedded
from tollhouse.platform.database.errors import reason_of
from tollhouse.platform.settings.values import key_ring

INSTALL = Path(__file__).parents[2] / "scripts" / "install"
REASONS: list[tuple[BaseException, str]] = [
    (asyncpg.ReadOnlySQLTransactionError("x"), "the server accepts no writes"),
    (asyncpg.DiskFullError("x"), "the disk of the server is full"),
    (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
    (ConnectionRefusedError(111, "Connection refused"), "no server listens at its address"),
    (asyncpg.InvalidPasswordError("x"), "the server refuses the role or its password"),
    (TimeoutError(), "no response in time"),
    (PermissionError(13, "Permission denied"), "Permission denied"),
    (asyncpg.UndefinedColumnError("column x does not exist"), "column x does not exist"),
]


async def test_the_version_is_printed(service: Service) -> None:
    outcome = await tollhouse(service, "--version")
    assert (outcome.status, outcome.talk) == (0, "")
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+( \([0-9a-f]{10}\))?)?\n", outcome.out)


async def test_two_keys_of_a_day_are_one_ring(service: Service) -> None:
    made = [(await tollhouse(service, "keys", "new")).out.strip() for _ in range(2)]
    assert len(key_ring(",".join(made))) == 2


async def test_an_error_at_the_start_is_a_line_of_the_log(service: Service, server: embedded.Server) -> None:
    outcome = await tollhouse(service, "web", DATABASE_URL=await new_database(server.cluster.dsn))
    assert outcome.status == 1
    found = re.findall(r"\{[^{}]*\}", outcome.talk)
    assert "run `tollhouse migrate`" in next(
        line["detail"] for line in map(json.loads, found) if line["event"] == "start_failed"
    )


async def test_an_error_of_a_command_is_a_sentence(service: Service) -> None:
    outcome = await tollhouse(service, "migrate", TOLLHOUSE_DRAIN_S="soon")
    assert outcome.status == 1
    assert outcome.talk.startswith("TOLLHOUSE_DRAIN_S ")


@pytest.mark.parametrize(("error", "words"), REASONS, ids=lambda value: type(value).__name__)
def test_reasons_are_words(error: BaseException, words: str) -> None:
    assert reason_of(error) == words


@pytest.mark.long
@pytest.mark.parametrize(("option", "warns"), [((), True), (("--unencrypted",), False), (("--without-keys",), False)])
async def test_a_backup_with_an_unencrypted_key_ring_warns(
    service: Service, server: embedded.Server, tmp_path: Path, option: tuple[str, ...], warns: bool
) -> None:
    dsn = await migrated_database(server.cluster.dsn)  # other tests leave secrets of lost keys
    outcome = await tollhouse(service, "backup", str(tmp_path / "backup.tar"), *option, DATABASE_URL=dsn)
    assert outcome.status == 0, outcome.talk
    assert ("From the next version on, a backup without encryption needs --unencrypted" in outcome.talk) == warns


@pytest.mark.long
def test_the_installation_follows_another_interpreter(tmp_path: Path) -> None:
    """A stamp says that all is installed, by an interpreter that is not the one in PYTHON."""
    for file in ("pyproject.toml", "locks/uv.txt", "locks/run.txt"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / "scripts").mkdir()
    shutil.copy(INSTALL, tmp_path / "scripts" / "install")
    old = tmp_path / ".venv" / "bin" / "python"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho another interpreter\n")
    old.chmod(0o755)
    wanted = "cat pyproject.toml locks/uv.txt locks/run.txt | cksum > .venv/installed-run"
    subprocess.run(["sh", "-c", wanted], cwd=tmp_path, check=True)
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    subprocess.run([tmp_path / "scripts" / "install", "run"], env=environment, capture_output=True, check=False)
    assert not old.exists() or "another interpreter" not in old.read_bytes().decode("latin-1")


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED without root: scripts/install refuses a hidden interpreter")
def test_the_installation_refuses_an_interpreter_that_the_account_of_the_service_cannot_read(tmp_path: Path) -> None:
    """Below /opt, where the service is an account of its own."""
    hidden = tmp_path / "hidden"
    subprocess.run([sys.executable, "-m", "venv", "--copies", "--without-pip", hidden], check=True)
    hidden.chmod(0o700)
    python = hidden / "bin" / "python3"
    with pytest.raises(PermissionError):
        subprocess.run([python, "--version"], user="nobody", group="nogroup", extra_groups=[], check=False)
    with tempfile.TemporaryDirectory(dir="/opt", prefix="tollhouse-install-") as folder:
        for file in ("pyproject.toml", "locks/uv.txt", "locks/run.txt", "scripts/install"):
            place = Path(folder) / file
            place.parent.mkdir(exist_ok=True)
            place.touch()
        shutil.copy(INSTALL, place)
        environment = {"PATH": "/usr/bin:/bin", "PYTHON": str(python)}
        done = subprocess.run([place, "run"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"{python} is in a folder that only root can read" in done.stderr
        assert "Install Python for all accounts" in done.stderr
        assert not (Path(folder) / ".venv").exists()
