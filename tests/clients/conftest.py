"""The clients are installed on first use, and may speak http to loopback."""

from collections.abc import Callable
from typing import NoReturn

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
def npm_packages(skip_aloud: Callable[[str], NoReturn]) -> None:
    """What node/package-lock.json names is in node/node_modules; skips, and says so aloud, where that cannot be."""
    missing = npm.why_missing(NODE)
    if missing is not None:
        skip_aloud(f"NOT TESTED: the OAuth clients from npm, because {missing}")
