"""A service of its own for the contract tests, without a worker: what they ask to be sent is sent to nobody."""

from collections.abc import Iterator

import pytest

from tests.contract.standing import Standing
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded


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
