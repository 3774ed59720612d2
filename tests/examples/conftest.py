"""Examples for Node need it, and the SDK needs nothing else."""

import shutil
from collections.abc import Callable
from typing import NoReturn

import pytest


@pytest.fixture(scope="session")
def node(skip_aloud: Callable[[str], NoReturn]) -> None:
    """Node and npm are there; skips, and says so aloud, where they are not."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip_aloud("NOT TESTED: the examples for Node, because there is no node or npm")
