"""Where parts cannot be forks, they are new processes with the supervisor's variables, and its end closes their input."""

import asyncio

import pytest

from tests.running import KEY
from tollhouse.instance.forks import Spawns


@pytest.mark.long
async def test_a_part_is_the_command_with_these_variables() -> None:
    settings = {"DATABASE_URL": "", "TOLLHOUSE_SECRET_KEYS": KEY}
    process = await Spawns().start("verify", ["verify"], settings)
    assert await asyncio.wait_for(process.wait(), 30) == 1  # it needs a database


@pytest.mark.long
async def test_a_part_runs_until_its_standard_input_closes() -> None:
    settings = {"DATABASE_URL": "postgresql://tollhouse@127.0.0.1:9/none", "TOLLHOUSE_SECRET_KEYS": KEY}
    process = await Spawns().start("worker", ["worker", "--supervised"], settings)
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 30) is not None
