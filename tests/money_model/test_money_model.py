"""The machine, run as part of the suite."""

import pytest

from tests.extent import EXTENT
from tests.money_model.playing import play
from tollhouse.instance.database import embedded

BATCHES, HISTORIES = EXTENT.of(4, short=1), EXTENT.of(30, short=8)
"""All batches explore the same space. Thousands of histories are played by `python -m tests.money_model`."""


@pytest.mark.covers("P-89")
@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=pytest.mark.xdist_group(f"money-{start}")) for start in range(BATCHES)]
)
def test_balances_are_always_those_of_the_books(server: embedded.Server, start: int) -> None:
    assert sum(batch.runs for batch in play(server.cluster.dsn, HISTORIES, start=start)) == HISTORIES
