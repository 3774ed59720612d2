"""The programs from npm are installed on first use."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from tests import npm
from tests.cast import Actor, Application, application
from tests.mcp.programs import CALLBACK, NODE


@pytest.fixture(scope="session")
def npm_packages(skip_aloud: Callable[[str], NoReturn]) -> None:
    """What node/package-lock.json names is in node/node_modules; skips, and says so aloud, where that cannot be."""
    missing = npm.why_missing(NODE)
    if missing is not None:
        skip_aloud(f"NOT TESTED: MCP clients and conformance tests from npm, because {missing}")


@pytest.fixture
async def public_app(bob: Actor) -> Application:
    """A public application with every scope: clients request what the metadata of `/mcp` list, and the merchant selects."""
    return await application(bob, "public", redirect_uris=[CALLBACK])
