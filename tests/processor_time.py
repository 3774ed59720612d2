"""How much processor time the tests of each folder take, all processes that they start included.

`python -m pytest -p tests.processor_time` prints it as a table, and adds it to the file `TOLLHOUSE_PROCESSOR_TIME` as JSON.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def spent_s() -> float:
    """Processor seconds of this process and of all below it so far, those included that have ended."""
    processes = dict(_processes())
    waiting, spent = [os.getpid()], 0
    while waiting:
        above = waiting.pop()
        spent += processes.get(above, (0, 0))[1]
        waiting += [pid for pid, (parent, _) in processes.items() if parent == above]
    return spent / TICKS_PER_S


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Every process with its parent, and the ticks that it and its ended children took."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = stat.read_text().rpartition(")")[2].split()
            yield int(stat.parent.name), (int(fields[1]), sum(map(int, fields[11:15])))


class Meter:
    """Notes what was spent whenever a test of another file begins. Of several processes each notes its own."""

    def __init__(self, *, is_controller: bool) -> None:
        self.by_file = defaultdict[str, float](float)
        self.tests = Counter[str]()
        self._is_controller = is_controller
        self._file = "(collecting)"
        self._until_now = 0.0

    @pytest.hookimpl
    def pytest_runtest_logstart(self, location: tuple[str, int | None, str]) -> None:
        """A test begins."""
        if not self._is_controller:
            self._turn_to(location[0])
            self.tests[location[0]] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The last test is over: a process of several hands over what it noted."""
        if not self._is_controller:
            self._turn_to("")
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["processor_time"] = (dict(self.by_file), dict(self.tests))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """One of several processes has ended."""
        by_file, tests = node.workeroutput.get("processor_time", ({}, {}))
        for file, spent in by_file.items():
            self.by_file[file] += spent
        self.tests.update(tests)

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        if name := os.environ.get("TOLLHOUSE_PROCESSOR_TIME"):
            with Path(name).open("ab") as file:
                file.write(msgspec.json.encode([self.by_file, self.tests]) + b"\n")
        terminalreporter.section("processor seconds")
        terminalreporter.write("\n".join(table(self.by_file, self.tests)) + "\n")

    def _turn_to(self, file: str) -> None:
        """What is spent from now on is spent for this file."""
        if file != self._file:
            now = spent_s()
            self.by_file[self._file] += max(now - self._until_now, 0)
            self._file, self._until_now = file, now


def table(by_file: dict[str, float], tests: "Counter[str]") -> list[str]:
    """The folders in the order of what they take, as lines of Markdown."""
    seconds, counts = defaultdict[str, float](float), Counter[str]()
    for file, spent in by_file.items():
        seconds[_folder(file)] += spent
        counts[_folder(file)] += tests[file]
    return [
        "| Folder | Tests | Processor seconds |",
        "|---|---|---|",
        *(
            f"| {folder} | {counts[folder]} | {spent:.0f} |"
            for folder, spent in sorted(seconds.items(), key=lambda row: -row[1])
        ),
        f"| all | {tests.total()} | {sum(seconds.values()):.0f} |",
    ]


def _folder(file: str) -> str:
    parts = file.split("/")
    return "/".join(parts[:3] if len(parts) > 3 else parts[:-1]) or file


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    is_controller = not hasattr(config, "workerinput") and config.getoption("dist", "no") != "no"
    config.pluginmanager.register(Meter(is_controller=is_controller))
