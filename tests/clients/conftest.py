"""The clients are installed on first use, and may speak http to loopback."""

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from tests.clients.driven import NODE

INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


@pytest.fixture(autouse=True)
def insecure_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Python client refuses http unless its own switch is set."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.delenv("OAUTHLIB_RELAX_TOKEN_SCOPE", raising=False)


@pytest.fixture(scope="session")
def skip_aloud(pytestconfig: pytest.Config) -> Callable[[str], NoReturn]:
    """Skips, and says so where it is seen."""
    capture: Any = pytestconfig.pluginmanager.getplugin("capturemanager")

    def skip(said: str) -> NoReturn:
        if capture is not None:
            with capture.global_and_fixture_disabled():
                print(f"\n{'!' * 100}\n{said}\n{'!' * 100}")  # noqa: T201 - a skip that nobody sees is a lie
        pytest.skip(said)

    return skip


@pytest.fixture(scope="session")
def npm_packages(skip_aloud: Callable[[str], NoReturn]) -> None:
    """What node/package-lock.json names is in node/node_modules; skips, and says so aloud, where that cannot be."""
    missing = next((f"there is no {program}" for program in ("node", "npm") if shutil.which(program) is None), None)
    missing = missing or _install()
    if missing is not None:
        skip_aloud(f"NOT TESTED: the OAuth clients from npm, because {missing}")


def _install() -> str | None:
    """Install unless what is installed is from this very lock file; why not, where that fails."""
    lock, installed = NODE / "package-lock.json", NODE / "node_modules" / "installed-from.json"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return None
    try:
        done = subprocess.run(INSTALL, cwd=NODE, env=os.environ, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "installing them took more than five minutes"
    if done.returncode != 0:
        return f"npm could not install them: {done.stderr.strip()[-500:]}"
    installed.write_bytes(lock.read_bytes())
    return None
