"""Rounds, their medians, and the table that is printed."""

import statistics
from collections.abc import Sequence

from msgspec import Struct


class Round(Struct, frozen=True):
    """What one round showed."""

    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float | None = None


class Row(Struct, frozen=True):
    """All rounds of an action: the medians, the slowest and the quickest, and the median ratio to the bare application.

    `cpu_us` is the processor time of the server process for one request. Its ratio holds on a busy machine too.
    """

    action: str
    who: str
    per_s: float
    per_s_min: float
    per_s_max: float
    p50_ms: float
    p99_ms: float
    ratio: float
    ratio_min: float
    ratio_max: float
    cpu_us: float | None
    cpu_ratio: float | None


def round_of(per_s: float, latencies_us: list[int], cpu_us: float | None = None) -> Round:
    """A round of so many answers a second, which took so long."""
    ordered = sorted(latencies_us)
    return Round(per_s, ordered[len(ordered) // 2] / 1000, ordered[len(ordered) * 99 // 100] / 1000, cpu_us)


def row_of(action: str, who: str, rounds: list[Round], floor: list[Round]) -> Row:
    """The rounds of somebody, beside the rounds of the floor that were measured in between."""
    rates = [one.per_s for one in rounds]
    ratios = [one.per_s / under.per_s for one, under in zip(rounds, floor, strict=True)]
    return Row(
        action,
        who,
        statistics.median(rates),
        min(rates),
        max(rates),
        statistics.median(one.p50_ms for one in rounds),
        statistics.median(one.p99_ms for one in rounds),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        _median([one.cpu_us for one in rounds]),
        _median(
            [under.cpu_us / one.cpu_us for one, under in zip(rounds, floor, strict=True) if one.cpu_us and under.cpu_us]
        ),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def table(rows: list[Row]) -> str:
    """Readable, one line a row."""
    titles = f"{'action':<9} {'who':<12} {'requests/s':>24} {'p50 ms':>7} {'p99 ms':>7}"
    lines = [f"{titles} {'of the bare application':>24} {'cpu us':>7} {'ratio':>6}"]
    for row in rows:
        rate = f"{row.per_s:,.0f} [{row.per_s_min:,.0f}-{row.per_s_max:,.0f}]"
        ratio = f"{row.ratio:.2f} [{row.ratio_min:.2f}-{row.ratio_max:.2f}]"
        cpu = f"{row.cpu_us:>7.0f} {row.cpu_ratio:>6.2f}" if row.cpu_us and row.cpu_ratio else f"{'-':>7} {'-':>6}"
        lines.append(f"{row.action:<9} {row.who:<12} {rate:>24} {row.p50_ms:>7.1f} {row.p99_ms:>7.1f} {ratio:>24} {cpu}")
    return "\n".join(lines)
