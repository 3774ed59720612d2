"""Playing histories: the machine with a harness under it, in batches that each have a database of their own."""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import HealthCheck, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.money_model.harness import Harness, harness
from tests.money_model.machine import MoneyMachine
from tests.running import Service, settings_for

STEPS = 60
BATCH = 50
"""So many histories share a database: the invariants are asked of everything in it, and would take longer and longer."""


class Batch(NamedTuple):
    """Some histories: their seed, how many they are, and how many were played before."""

    seed: int
    runs: int
    before: int


def play(dsn: str, runs: int, *, steps: int = STEPS, start: int = 0) -> Iterator[Batch]:
    """Play so many histories; each batch is named before it begins. The same start plays the same ones.

    Raises what failed, made small.
    """
    for before in range(0, runs, BATCH):
        batch = Batch(start + before // BATCH, min(BATCH, runs - before), before)
        yield batch
        service = Service(settings_for(dsn, fresh=True), worker=False)
        with service, harness(service) as here:
            play_batch(here, batch, steps)


def play_batch(here: Harness, batch: Batch, steps: int) -> None:
    """Play histories on this harness. Each is checked by itself; what it did to the rows of others is found at the end."""
    machine = type("Machine", (MoneyMachine,), {"harness": here})
    chosen = settings(
        max_examples=batch.runs,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        verbosity=Verbosity.normal,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        print_blob=False,
    )
    run_state_machine_as_test(seed(batch.seed)(machine), settings=chosen)
    assert here.broken_invariants() == []
