"""The development tools of the SDK are installed on first use."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from tests import npm
from tests.sdk_typescript.generate import SDK


@pytest.fixture(scope="session")
def sdk(skip_aloud: Callable[[str], NoReturn]) -> None:
    """Node and the tools of `package-lock.json` are there; skips, and says so aloud, where that cannot be."""
    missing = npm.why_missing(SDK)
    if missing is not None:
        skip_aloud(f"NOT TESTED: the TypeScript SDK, because {missing}")
