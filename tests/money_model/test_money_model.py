"""The machine, run as part of the suite."""

import pytest

from tests.money_model.ground import ground
from tests.money_model.playing import play
from tests.running import Service, settings_for
from tollhouse.platform import embedded

RUNS = 200


@pytest.mark.covers("P-89")
def test_balances_are_always_those_of_the_books(server: embedded.Server) -> None:
    service = Service(settings_for(server.cluster.dsn, fresh=True), worker=False)
    with service, ground(service) as here:
        play(here, RUNS)
