"""Charts: from integers to the geometry of an SVG. Pure functions without money, time or HTML.

Positions are whole units of the view box, which pages stretch to any width. The words of a chart are HTML beside it.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

TICKS_MAX = 4
STEPS = (1, 2, 5)
WIDTH, HEIGHT = 3000, 900
SPARK_WIDTH, SPARK_HEIGHT = 300, 84
NAMES_MAX = 5
"""The labels below a chart, at even distances from its first value to its last."""


class Point(Struct, frozen=True):
    """The strip of a chart in which the pointer shows a value, and the words that it shows."""

    x: int
    width: int
    words: str


class GridLine(Struct, frozen=True):
    """A grid line and its value."""

    y: int
    text: str


class LineChart(Struct, frozen=True):
    """A line of values with its area, a line of earlier values, and labels. The grid begins at the top."""

    now: str
    area: str
    before: str
    points: tuple[Point, ...]
    grid: tuple[GridLine, ...]
    names: tuple[str, ...]
    highest: str
    width: int = WIDTH
    height: int = HEIGHT


class Sparkline(Struct, frozen=True):
    """A small line of values with its area."""

    line: str
    area: str
    width: int = SPARK_WIDTH
    height: int = SPARK_HEIGHT


class Segment(Struct, frozen=True):
    """A segment of a strip, in thousandths of its width."""

    x: int
    width: int


class Strip(Struct, frozen=True):
    """A strip divided into segments."""

    segments: tuple[Segment, ...]
    width: int = 1000


def line_chart(
    values: Sequence[int], names: Sequence[str], before: Sequence[int], *,
    described: Callable[[int], str], written: Callable[[int], str],
) -> LineChart:  # fmt: skip
    """A line chart of values of at least zero, each with a label; `before` may have fewer values.

    `described` formats a value beside its label, `written` that of a grid line.
    """
    step = step_of(max((*values, *before), default=0))
    top = max(step, -(-max((*values, *before), default=0) // step) * step)
    words = [f"{name}: {described(value)}" for name, value in zip(names, values, strict=True)]
    count = max(len(values), 1)
    last_name = min(NAMES_MAX, len(names)) - 1
    edges = [0, *((2 * place + 1) * WIDTH // (2 * count - 2) for place in range(count - 1)), WIDTH]
    return LineChart(
        now=_line(values, count, top, WIDTH, HEIGHT),
        area=_area(values, count, top, WIDTH, HEIGHT),
        before=_line(before, count, top, WIDTH, HEIGHT),
        points=tuple(Point(edges[place], edges[place + 1] - edges[place], text) for place, text in enumerate(words)),
        grid=tuple(GridLine(_y(value, top, HEIGHT), written(value)) for value in range(top, -1, -step)),
        names=tuple(names[place * (count - 1) // max(last_name, 1)] for place in range(last_name + 1)),
        highest=words[max(range(len(values)), key=values.__getitem__)] if any(values) else "",
    )


def sparkline(values: Sequence[int]) -> Sparkline:
    """A small line of values of at least zero."""
    count, top = max(len(values), 1), max((*values, 1))
    return Sparkline(
        _line(values, count, top, SPARK_WIDTH, SPARK_HEIGHT), _area(values, count, top, SPARK_WIDTH, SPARK_HEIGHT)
    )


def strip(shares: Sequence[int]) -> Strip:
    """A strip divided into segments in proportion to their shares. Their widths add up to its width."""
    whole, so_far, parts = sum(shares), 0, list[Segment]()
    for share in shares:
        start, so_far = so_far, so_far + share
        x = start * 1000 // whole if whole else 0
        parts.append(Segment(x, so_far * 1000 // whole - x if whole else 0))
    return Strip(tuple(parts))


def _y(value: int, top: int, height: int) -> int:
    return height - (value * height * 2 + top) // (2 * top)


def _line(values: Sequence[int], count: int, top: int, width: int, height: int) -> str:
    """The path of values, the first of `count` at the left edge and the last at the right one; a single one is level."""
    points = [(place * width // max(count - 1, 1), _y(value, top, height)) for place, value in enumerate(values)]
    if count == 1 and points:
        points.append((width, points[0][1]))
    return "".join(f"{'L' if place else 'M'}{x} {y}" for place, (x, y) in enumerate(points))


def _area(values: Sequence[int], count: int, top: int, width: int, height: int) -> str:
    line = _line(values, count, top, width, height)
    return f"{line}L{width} {height}L0 {height}Z" if line else ""


def step_of(top: int) -> int:
    """The distance of grid lines up to `top`: 1, 2 or 5 times a power of ten, so that there are few."""
    scale = 1
    while True:
        for step in STEPS:
            if step * scale * TICKS_MAX >= top:
                return step * scale
        scale *= 10


def format_percent(part: int, whole: int) -> str:
    """A share as a percentage with one decimal, rounded half up, such as `12.4`; `0.0` of nothing."""
    tenths = (abs(part) * 2000 + whole) // (2 * whole) if whole else 0
    return f"{'-' if part < 0 and tenths else ''}{tenths // 10}.{tenths % 10}"
