"""Thousands of simulated blocks: whatever fails meanwhile, each payment is credited once, and each payout leaves once.

`TOLLHOUSE_EVM_BLOCKS` sets the number of blocks, `TOLLHOUSE_EVM_SEED` the history.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from tests.cast import sign_up
from tests.extent import EXTENT
from tests.payments.shop import approve_project
from tests.rails.evm import simulated_checks as checks
from tests.rails.evm.fake_node import answering
from tests.rails.evm.simulated_failures import asking
from tests.rails.evm.simulated_history import History
from tests.rails.evm.simulation import COIN_FLOAT, DEPTH, NAME, TOKEN_FLOAT, Simulation, remembered_addresses
from tests.rails.evm.test_rail_balances import book
from tests.running import Service, settings_for, warnings_only
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.rails.chains import following
from tollhouse.rails.evm import jobs

BLOCKS = int(os.environ.get("TOLLHOUSE_EVM_BLOCKS", EXTENT.of(150, short=40)))
SEED = int(os.environ.get("TOLLHOUSE_EVM_SEED", "7"))
CHECK_EVERY = 500


@pytest.fixture
def service(server: embedded.Server) -> Iterator[Service]:
    """A database of its own, and no worker but those of the simulation."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.mark.long
@pytest.mark.parametrize("finality", ["finalized", DEPTH + 1])
async def test_every_payment_is_credited_once_and_every_payout_leaves_once(
    service: Service, finality: Literal["finalized"] | int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the final chain, to the wei, and as it was signed."""
    began_s = time.monotonic()
    services = service.create_services(connections=4)
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        await approve_project(alice, "live")
        random = Random(f"{SEED} {finality}")  # noqa: S311 - a history that can be repeated
        simulation = Simulation(services, service, random, tmp_path, finality)
        monkeypatch.setattr(clock, "now", lambda: simulation.now)
        with (
            warnings_only(),
            remembered_addresses(monkeypatch),
            answering(simulation.node, monkeypatch),
            asking({simulation.signer.policy.socket: simulation.signer}, monkeypatch),
        ):
            history = History(simulation, alice)
            await prepare(simulation)
            mined, checked = 0, 0
            while mined < BLOCKS:
                await history.step()
                for _ in range(simulation.random.choice((0, 1, 1, 2))):
                    await simulation.work()
                mined = history.counts["blocks"]
                if mined >= min(checked + CHECK_EVERY, BLOCKS):
                    checked = mined
                    await checks.settle(simulation, history)
                    found = await checks.check(simulation, service.dsn)
                    print(f"seed {SEED}, {finality}, {mined} blocks, {time.monotonic() - began_s:.0f} s")  # noqa: T201
                    print(dict(history.counts + simulation.risks.counts + found), simulation.node.counts)  # noqa: T201
                    simulation.endanger()
    await simulation.pool.close()
    await services.db.close()


async def prepare(simulation: Simulation) -> None:
    """The worker has looked once, and what is in the wallet is the operator's."""
    simulation.finalize()
    await simulation.work_all()
    await jobs.measure_payouts(simulation.workers[0])
    await following.refresh(simulation.web)
    for currency, units, scale in (("ETH", COIN_FLOAT, 10**10), ("USDC", TOKEN_FLOAT, 1)):
        await book(simulation.web, NAME, simulation.web.catalogue.currencies[currency], units // scale)
    simulation.endanger()
