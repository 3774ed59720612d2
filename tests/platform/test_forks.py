"""Parts are forks of a process that has loaded the program; that process and the supervisor live and die as one."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.platform.forking import EXIT_STATUS
from tests.processes import below

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="parts are forks on Linux only")
ENDS_WITHIN_S = 20


@contextmanager
def playing(scenario: str) -> Iterator["subprocess.Popen[str]"]:
    """The program of `forking`, in this scenario."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.platform.forking", scenario],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def played(scenario: str) -> tuple[int, str, str]:
    """How the scenario ended, and what it printed."""
    with playing(scenario) as process:
        out, talk = process.communicate(timeout=ENDS_WITHIN_S)
        return process.returncode, out, talk


def test_a_part_has_its_arguments_and_variables_and_its_end_is_reported() -> None:
    assert played("starts_and_ends") == (0, "greeter [tollhouse: greeter] hello world True\n", "")


def test_parts_are_signalled() -> None:
    assert played("signals") == (0, f"[{-signal.SIGTERM}, {-signal.SIGKILL}]\n", "")


@pytest.mark.long
def test_parts_started_at_once_are_not_confused() -> None:
    assert played("many") == (0, f"{list(range(20))}\n", "")


def test_every_process_writes_to_the_log() -> None:
    status, _, talk = played("logs")
    assert status == 0
    assert [talk.count(f'"from_{who}"') for who in ("loading", "supervisor", "part")] == [1, 1, 1]


@pytest.mark.parametrize("killed", ["server", "supervisor"])
def test_all_end_when_one_is_killed(killed: str) -> None:
    with playing("waits") as process:
        assert process.stdout is not None
        supervisor = int(process.stdout.readline().split()[1])
        assert len(below(process.pid)) == 3
        os.kill(process.pid if killed == "server" else supervisor, signal.SIGKILL)
        assert process.wait(ENDS_WITHIN_S) == (-signal.SIGKILL if killed == "server" else 128 + signal.SIGKILL)
        assert process.stdout.read() == ""  # until the last process that could write has ended


def test_a_supervisor_ends_all_though_the_signal_of_its_end_came_too_early() -> None:
    assert played("missed") == (EXIT_STATUS, "", "")


def test_a_signal_that_interrupts_nothing_stops_all() -> None:
    assert played("stops") == (128 + signal.SIGTERM, "", "")


def test_a_supervisor_that_ends_ends_all_while_the_program_loads() -> None:
    assert played("broken") == (EXIT_STATUS, "loading\n", "")


def test_signals_reach_the_supervisor_while_the_program_loads() -> None:
    with playing("unready") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.terminate()
        assert process.wait(ENDS_WITHIN_S) == 128 + signal.SIGTERM
