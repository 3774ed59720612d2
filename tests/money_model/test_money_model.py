"""The machine, run as part of the suite."""

import pytest

from tests.money_model.playing import play
from tollhouse.platform import embedded

RUNS = 200


@pytest.mark.covers("P-89")
def test_balances_are_always_those_of_the_books(server: embedded.Server) -> None:
    assert sum(batch.runs for batch in play(server.cluster.dsn, RUNS)) == RUNS
