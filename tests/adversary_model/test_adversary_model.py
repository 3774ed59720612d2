"""The adversary, run as part of the suite."""

import pytest

from tests.adversary_model.playing import BATCH, histories
from tollhouse.instance.database import embedded

BATCHES = 4


@pytest.mark.parametrize("batch", range(BATCHES))
def test_nobody_gains_what_nothing_explains(server: embedded.Server, batch: int) -> None:
    played = list(histories(server.cluster.dsn, BATCH, batch * BATCH))
    assert len(played) == BATCH
    wrong = [str(one) for one in played if one.violations]
    assert not wrong, "\n".join(wrong)
