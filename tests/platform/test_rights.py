"""Root starts long-running commands: they give its rights up to the account that owns their data, or say why not."""

import json
import os
import pwd
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.processes import below
from tests.rails.evm.signer.conftest import SETTINGS
from tests.running import free_port
from tollhouse.platform import rights

pytestmark = pytest.mark.xdist_group("serve")
SYSTEM_PYTHON = Path("/usr/bin/python3")
SOURCES = Path(__file__).parents[2] / "src"
STARTS_WITHIN_S = 90
ACCOUNT = "nobody"


@pytest.fixture
def python(skip_aloud: Callable[[str], NoReturn]) -> str:
    """An interpreter that every account can start."""
    if os.geteuid() != 0:
        skip_aloud("NOT TESTED: giving up root's rights, because this is not root")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.stdout.strip() != version or rights.closed_folder(str(SOURCES / "tollhouse")) is not None:
        skip_aloud(f"NOT TESTED: giving up root's rights, because there is no Python {version} for all accounts")
    return str(SYSTEM_PYTHON)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every account can pass through."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-rights-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def start(python: str, folder: Path, *words: str, **environment: str) -> "subprocess.Popen[bytes]":
    """Start a command as root, with its messages in `log`."""
    sources = f"{SOURCES}:{sysconfig.get_paths()['purelib']}"
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [python, "-m", "tollhouse", *words],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1", **environment},
            cwd=folder,
            stdout=log,
            stderr=log,
        )


def wait_for(process: "subprocess.Popen[bytes]", folder: Path, event: str) -> str:
    """The detail of the first line of the log with this event."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        for line in (folder / "log").read_text().splitlines():
            if line.startswith("{") and (found := json.loads(line))["event"] == event:
                return str(found.get("detail", ""))
        assert process.poll() is None, (folder / "log").read_text()
        time.sleep(0.05)
    raise AssertionError((folder / "log").read_text())


def ids_of(pid: int) -> set[int]:
    """The users of a process: real, effective, saved and of its files."""
    status = Path(f"/proc/{pid}/status").read_text()
    return {int(word) for word in status.partition("\nUid:")[2].partition("\n")[0].split()}


def end(process: "subprocess.Popen[bytes]") -> None:
    """Stop it as systemd does."""
    process.send_signal(signal.SIGTERM)
    process.wait(60)


@pytest.mark.long
def test_the_service_and_its_database_become_the_owner_of_the_data_folder(python: str, folder: Path) -> None:
    account, data = pwd.getpwnam(ACCOUNT), folder / "data"
    data.mkdir(mode=0o700)
    os.chown(data, account.pw_uid, account.pw_gid)
    port = str(free_port())
    process = start(python, folder, "serve", "--port", port, TOLLHOUSE_DATA_DIR=str(data))
    try:
        wait_for(process, folder, "serving")
        assert wait_for(process, folder, "rights_given_up") == f"Started as root. Runs as {ACCOUNT} from now on."
        pids = [process.pid, *below(process.pid)]
        assert len(pids) > 5, "supervisor, web, worker and the processes of the database"
        assert {pid: ids for pid in pids if (ids := ids_of(pid)) != {account.pw_uid}} == {}
    finally:
        end(process)
    assert "running_as_root" not in (folder / "log").read_text()


@pytest.mark.long
def test_a_data_folder_of_root_leaves_the_rights_and_says_so(python: str, folder: Path) -> None:
    data = folder / "data"
    data.mkdir()
    process = start(python, folder, "serve", "--port", str(free_port()), TOLLHOUSE_DATA_DIR=str(data))
    try:
        assert f"whose rights this process keeps: {data} belongs to root." in wait_for(process, folder, "running_as_root")
        wait_for(process, folder, "serving")
        assert ids_of(process.pid) == {0}
    finally:
        end(process)


def test_what_another_account_owns_is_no_reason_to_fail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that was made by another account, or keys of root."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    monkeypatch.setattr(rights, "closed_folder", lambda: None)
    (folder / "secret-keys").touch()
    (folder / "postgres").mkdir()
    account, other = pwd.getpwnam(ACCOUNT), pwd.getpwnam("daemon")
    os.chown(folder, account.pw_uid, account.pw_gid)
    os.chown(folder / "postgres", account.pw_uid, account.pw_gid)
    assert not rights.give_up(folder)
    os.chown(folder / "secret-keys", other.pw_uid, other.pw_gid)
    assert not rights.give_up(folder)
    assert not rights.give_up(folder / "nothing")
    assert os.geteuid() == 0


@pytest.mark.long
def test_the_signer_becomes_the_owner_of_its_journal(python: str, folder: Path) -> None:
    account, home = pwd.getpwnam(ACCOUNT), folder / "signer"
    home.mkdir(mode=0o700)
    settings = home / "signer.toml"
    settings.write_text(SETTINGS.replace("FOLDER", str(home)))
    made = start(python, folder, "signer", "new", "--settings", str(settings))
    assert made.wait(STARTS_WITHIN_S) == 0, (folder / "log").read_text()
    (folder / "log").unlink()
    process = start(python, folder, "signer", "run", "--settings", str(settings))
    try:
        assert "belongs to root" in wait_for(process, folder, "running_as_root")
    finally:
        end(process)
    (folder / "log").unlink()
    for found in (home, *home.iterdir()):
        os.chown(found, account.pw_uid, account.pw_gid)
    process = start(python, folder, "signer", "run", "--settings", str(settings))
    try:
        wait_for(process, folder, "rights_given_up")
        assert ids_of(process.pid) == {account.pw_uid}
    finally:
        end(process)
