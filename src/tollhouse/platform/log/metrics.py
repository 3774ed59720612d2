"""Metrics that the processes of one `tollhouse serve` count together, in memory that forks share.

Each process writes only its own row of numbers, so that none is lost, and a scrape adds the rows up. A process that replaces
another continues its row, so counters never fall. What a metric costs is the increment of a number.
"""

import mmap
import os
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

NUMBER_BYTES = 8
ROWS, COLUMNS = 64, 16_384
"""Memory is used only where it was read or written."""
SAMPLE_EVERY_S = 1
SILENT_AFTER_S = 10
US = 1_000_000
LATENCY_BOUNDS_US = (
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
)  # fmt: skip
Labels = tuple[str, ...]


class RunningProcess(Struct, frozen=True):
    """A running process and its row."""

    name: str
    pid: int
    numbers: memoryview


class Rows:
    """The shared numbers. Columns are reserved while modules are imported, before processes are forked.

    Before the rows stand for each row the process, and when it last sampled its gauges, in seconds of the monotonic clock.
    A row without that time was never used.
    """

    def __init__(self) -> None:
        memory = memoryview(mmap.mmap(-1, (2 + COLUMNS) * ROWS * NUMBER_BYTES)).cast("Q")
        self._pids, self._seen_at_s, self._memory = memory[:ROWS], memory[ROWS : 2 * ROWS], memory[2 * ROWS :]
        self._reserved = 0
        self.metrics: list[_Metric] = []
        self.use(0)

    def use(self, number: int) -> None:
        """Write to this row from now on. Beyond `ROWS` processes share rows, and may lose counts."""
        self._number = number % ROWS
        self.own = self._row(self._number)

    def reserve(self, columns: int) -> int:
        """The first of so many new columns."""
        first = self._reserved
        self._reserved += columns
        if self._reserved > COLUMNS:
            raise ValueError("there are more metrics than columns")
        return first

    def total(self, column: int) -> int:
        """The sum of a column over all processes, also those that have ended."""
        return sum(self._memory[number * COLUMNS + column] for number in range(ROWS) if self._seen_at_s[number])

    def processes(self) -> Iterator[RunningProcess]:
        """The processes that have sampled their gauges in the last `SILENT_AFTER_S` seconds."""
        now_s = time.monotonic()
        for number in range(ROWS):
            if self._pids[number] and now_s - self._seen_at_s[number] < SILENT_AFTER_S:
                yield RunningProcess(f"web {number}" if number else "worker", self._pids[number], self._row(number))

    def mark_sampled(self) -> None:
        """Say that this process runs and that its gauges are current."""
        self._pids[self._number], self._seen_at_s[self._number] = os.getpid(), int(time.monotonic()) + 1

    def mark_ended(self) -> None:
        """Say that this process ends: its gauges count no more."""
        self._pids[self._number] = 0

    def _row(self, number: int) -> memoryview:
        return self._memory[number * COLUMNS : (number + 1) * COLUMNS]


INSTANCE = Rows()


def use_row(number: int) -> None:
    """Count in this row: 0 for the worker, then one for each web process. Called before anything is counted."""
    INSTANCE.use(number)


class _Metric:
    """Columns for each of a fixed set of label values, which are reserved when the module is imported.

    `sparse`: label values are shown once something was counted; of a counter, whose labels but the last are the same.
    """

    WIDTH = 1

    def __init__(
        self, name: str, meaning: str, labels: Sequence[str] = (), values: Sequence[Labels] = ((),), *, sparse: bool = False
    ) -> None:
        self.name, self.meaning, self.labels = name, meaning, tuple(labels)
        self._is_sparse = sparse
        self._rows = INSTANCE
        self._rows.metrics.append(self)
        first = self._rows.reserve(len(values) * self.WIDTH)
        self._columns = {value: first + number * self.WIDTH for number, value in enumerate(values)}

    def column(self, *labels: str) -> int:
        """The first column of these label values, for code that counts in it without a look-up."""
        return self._columns[labels]


class Counter(_Metric):
    """A number that only rises. Its name gets the suffix `_total`."""

    def add(self, *labels: str, count: int = 1) -> None:
        """Add to the number with these label values. Raises `KeyError` for others."""
        self._rows.own[self._columns[labels]] += count

    def totals(self) -> Iterator[tuple[Labels, int]]:
        """The sum of all processes for each value of the labels."""
        totals = {labels: self._rows.total(column) for labels, column in self._columns.items()}
        counted = {labels[:-1] for labels, total in totals.items() if total}
        for labels, total in totals.items():
            if not self._is_sparse or labels[:-1] in counted:
                yield labels, total


class Durations(_Metric):
    """Numbers of durations by bucket, after the sum of them."""

    WIDTH = len(LATENCY_BOUNDS_US) + 2

    def observe(self, duration_us: int, *labels: str) -> None:
        """Count a duration. Raises `KeyError` for other label values."""
        observe_duration(self._columns[labels], duration_us)

    def totals(self) -> Iterator[tuple[Labels, list[int], int]]:
        """For each value of the labels: the number in each bucket, the last one unbounded, and the sum in microseconds."""
        for labels, first in self._columns.items():
            numbers = [self._rows.total(first + column) for column in range(self.WIDTH)]
            if not self._is_sparse or any(numbers):
                yield labels, numbers[1:], numbers[0]


class Gauge(_Metric):
    """A number that each process has for itself, sampled every second."""

    def set(self, number: int) -> None:
        """Set the number of this process."""
        self._rows.own[self.column()] = number

    def by_process(self) -> Iterator[tuple[str, int]]:
        """The name and number of each running process."""
        for process in self._rows.processes():
            yield process.name, process.numbers[self.column()]


def observe_duration(first: int, duration_us: int) -> None:
    """Count a duration in these columns: the sum, then the buckets."""
    own = INSTANCE.own
    own[first] += duration_us
    own[first + 1 + bisect_left(LATENCY_BOUNDS_US, duration_us)] += 1
