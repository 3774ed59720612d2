"""Histories of 50 steps, 500 with `--all`, in which the service and the model never differ."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.extent import EXTENT
from tests.model.machine import Machine
from tests.model.reality import Reality, reach
from tests.running import warnings_only
from tollhouse.instance.database.embedded import Server

HISTORIES, STEPS = EXTENT.of(500, short=40), 50


@pytest.fixture(scope="module")
def reality(server: Server) -> Iterator[Reality]:
    """The service, and a way to reach it."""
    with warnings_only(), reach(server.cluster.dsn) as reality:
        yield reality


@pytest.mark.long
@pytest.mark.xdist_group("histories")
def test_the_service_and_the_model_never_differ(reality: Reality) -> None:
    class Here(Machine):
        owners = (reality.sign_up("bob"), reality.sign_up("mallory"))
        merchants = (reality.sign_up("alice"), reality.sign_up("carol"))

    Here.reality = reality
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="CI" in os.environ,
            print_blob=True,
            report_multiple_bugs=False,
            phases=(Phase.reuse, Phase.generate, Phase.shrink),  # explaining takes longer than it tells
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
        ),
    )
