"""Playing histories: the machine with a ground under it, and how many runs of how many steps."""

from hypothesis import HealthCheck, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.money_model.ground import Ground
from tests.money_model.machine import MoneyMachine

STEPS = 60


def play(ground: Ground, runs: int, *, steps: int = STEPS, start: int | None = None) -> None:
    """Play so many histories; always the same ones unless `start` seeds them. Raises what failed, made small."""
    machine = type("Machine", (MoneyMachine,), {"ground": ground})
    chosen = settings(
        max_examples=runs,
        stateful_step_count=steps,
        derandomize=start is None,
        database=None,
        deadline=None,
        verbosity=Verbosity.normal,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        print_blob=False,
    )
    run_state_machine_as_test(machine if start is None else seed(start)(machine), settings=chosen)
