"""Charts: from integers to the geometry of an SVG. Pure functions without money, time or HTML.

Positions are whole units of the view box, so that pages contain no rounding errors.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

D = TypeVar("D")
TICKS_MAX = 4
STEPS = (1, 2, 5)
CHAR_WIDTH = 7
ABOVE, BELOW = 12, 28
"""Space above the bars and below them for labels."""


class Size(Struct, frozen=True):
    """The view box of a chart, its CSS class, and how many labels fit below its bars."""

    name: str
    width: int
    height: int
    names_max: int


WIDE, NARROW = Size("wide", 820, 260, 12), Size("narrow", 320, 220, 5)


class Bar(Struct, frozen=True):
    """A bar with its label. The height of 0 is 0."""

    x: int
    y: int
    width: int
    height: int
    words: str


class ChartLabel(Struct, frozen=True):
    """A label at its position: beside a grid line or below a bar."""

    at: int
    text: str


class BarChart(Struct, frozen=True):
    """Bars above a baseline, grid lines with values, labels, and a line of earlier values."""

    size: Size
    left: int
    floor: int
    bars: tuple[Bar, ...]
    grid: tuple[ChartLabel, ...]
    names: tuple[ChartLabel, ...]
    before: str


class Segment(Struct, frozen=True):
    """A segment of a strip."""

    x: int
    width: int


class Strip(Struct, frozen=True):
    """A strip divided into segments."""

    size: Size
    segments: tuple[Segment, ...]


class Chart(NamedTuple, Generic[D]):
    """A drawing for wide windows and one for narrow ones, of which CSS shows one."""

    wide: D
    narrow: D


def draw(draw_in: Callable[[Size], D]) -> Chart[D]:
    """Draw a chart in both sizes."""
    return Chart(draw_in(WIDE), draw_in(NARROW))


def bars(
    values: Sequence[int], names: Sequence[str], before: Sequence[int], *,
    described: Callable[[int], str], written: Callable[[int], str],
) -> Chart[BarChart]:  # fmt: skip
    """The chart of a `bar_chart`. `described` formats a value beside its label, `written` that of a grid line."""
    words = [f"{name}: {described(value)}" for name, value in zip(names, values, strict=True)]
    return draw(lambda size: bar_chart(values, names, words, before, size, written))


def strips(shares: Sequence[int]) -> Chart[Strip]:
    """The chart of a `strip`."""
    return draw(lambda size: Strip(size, strip(shares, size.width)))


def bar_chart(
    values: Sequence[int], names: Sequence[str], words: Sequence[str], before: Sequence[int], size: Size,
    written: Callable[[int], str],
) -> BarChart:  # fmt: skip
    """A bar chart of values of at least zero, each with a label and a text; `before` may have fewer values.

    `written` formats the value of a grid line.
    """
    step = step_of(max((*values, *before), default=0))
    top = max(step, -(-max((*values, *before), default=0) // step) * step)
    lines = range(0, top + 1, step)
    left = CHAR_WIDTH * max(len(written(value)) for value in lines) + 10
    floor, room, count = size.height - BELOW, size.height - BELOW - ABOVE, max(len(values), 1)

    def height(value: int) -> int:
        return (value * room * 2 + top) // (2 * top)

    def edge(place: int) -> int:
        return left + place * (size.width - left) // count

    def middle(place: int) -> int:
        return (edge(place) + edge(place + 1)) // 2

    gap = max(1, (edge(1) - left) // 5)
    bars = tuple(
        Bar(edge(place) + gap, floor - tall, max(1, edge(place + 1) - edge(place) - 2 * gap), tall, words[place])
        for place, tall in enumerate(max(height(value), 1 if value else 0) for value in values)
    )
    every = -(-count // size.names_max)
    return BarChart(
        size=size,
        left=left,
        floor=floor,
        bars=bars,
        grid=tuple(ChartLabel(floor - height(value), written(value)) for value in lines),
        names=tuple(
            ChartLabel(min(middle(place), size.width - len(name) * CHAR_WIDTH // 2), name)
            for place, name in enumerate(names)
            if place % every == 0
        ),
        before=" ".join(f"{middle(place)},{floor - height(value)}" for place, value in enumerate(before)),
    )


def step_of(top: int) -> int:
    """The distance of grid lines up to `top`: 1, 2 or 5 times a power of ten, so that there are few."""
    scale = 1
    while True:
        for step in STEPS:
            if step * scale * TICKS_MAX >= top:
                return step * scale
        scale *= 10


def strip(shares: Sequence[int], width: int) -> tuple[Segment, ...]:
    """A strip divided into segments in proportion to their shares. Their widths add up to its width."""
    whole, so_far, parts = sum(shares), 0, list[Segment]()
    for share in shares:
        start, so_far = so_far, so_far + share
        parts.append(
            Segment(start * width // whole, so_far * width // whole - start * width // whole) if whole else Segment(0, 0)
        )
    return tuple(parts)


def format_percent(part: int, whole: int) -> str:
    """A share as a percentage with one decimal, rounded half up, such as `12.4`; `0.0` of nothing."""
    tenths = (abs(part) * 2000 + whole) // (2 * whole) if whole else 0
    return f"{'-' if part < 0 and tenths else ''}{tenths // 10}.{tenths % 10}"
