"""The clients are installed on first use, and may speak http to loopback."""

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from tests import npm
from tests.clients.driven import NODE


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
    missing = npm.why_missing(NODE)
    if missing is not None:
        skip_aloud(f"NOT TESTED: the OAuth clients from npm, because {missing}")
