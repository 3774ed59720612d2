"""The adversary, run as part of the suite."""

import pytest

from tests.adversary_model.playing import BATCH, histories
from tests.extent import EXTENT
from tollhouse.instance.database import embedded

BATCHES, HISTORIES = EXTENT.of(4, short=1), EXTENT.of(300, short=60)


@pytest.mark.parametrize(
    "batch", [pytest.param(number, marks=pytest.mark.xdist_group(f"adversary-{number}")) for number in range(BATCHES)]
)
def test_nobody_gains_what_nothing_explains(server: embedded.Server, batch: int) -> None:
    played = list(histories(server.cluster.dsn, HISTORIES, batch * BATCH))
    assert len(played) == HISTORIES
    wrong = [str(one) for one in played if one.violations]
    assert not wrong, "\n".join(wrong)
