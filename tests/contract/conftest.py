"""A service of its own for the contract tests, without a worker: what they ask to be sent is sent to nobody."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.standing import Standing
from tests.extent import EXTENT
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Only with `--all`, or named: to make the requests of all operations takes seconds in each process of tests."""
    return True if collection_path.name == "test_contract.py" and not EXTENT.is_whole else None


@pytest.fixture(scope="package")
def standing(server: embedded.Server) -> Iterator[Standing]:
    """Everybody who sends requests, moved in."""
    settings = settings_for(server.cluster.dsn, fresh=True, NOTIFY_DEPRECATED_WH="true")
    with Service(settings, worker=False) as service:
        everybody = Standing(service)
        try:
            everybody.move_in()
            yield everybody
        finally:
            everybody.move_out()
