"""Charts in numbers: bars in proportion, round lines of a grid, strips without gaps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollhouse.http.charts import ABOVE, BELOW, NARROW, WIDE, bar_chart, format_percent, step_of, strip

MINOR = st.integers(0, 2**60)


@pytest.mark.parametrize(
    ("top", "step"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 5), (20, 5), (21, 10), (4_626_000, 2_000_000)]
)
def test_lines_of_the_grid_are_at_round_numbers(top: int, step: int) -> None:
    assert step_of(top) == step


def test_bars_are_as_high_as_their_values() -> None:
    chart = bar_chart([0, 10, 20, 1], list("abcd"), ["", "ten", "", ""], [20], WIDE, str)
    room = WIDE.height - ABOVE - BELOW
    assert [bar.height for bar in chart.bars] == [0, room // 2, room, (room + 10) // 20]
    assert [line.text for line in chart.grid] == ["0", "5", "10", "15", "20"]
    assert (chart.grid[0].at, chart.grid[-1].at) == (chart.floor, ABOVE)
    assert chart.bars[1].words == "ten"
    assert [word.text for word in chart.names] == list("abcd")
    assert chart.before.endswith(f",{ABOVE}")


def test_a_value_is_never_drawn_as_nothing() -> None:
    assert [bar.height for bar in bar_chart([1, 10**9], ["", ""], ["", ""], [], WIDE, str).bars] == [1, 220]


def test_names_that_do_not_fit_are_left_out() -> None:
    names = [str(day) for day in range(31)]
    assert [word.text for word in bar_chart([1] * 31, names, names, [], NARROW, str).names] == ["0", "7", "14", "21", "28"]


@given(st.lists(MINOR, min_size=1, max_size=62), st.lists(MINOR, max_size=62), st.sampled_from([WIDE, NARROW]))
def test_everything_stays_within_its_box(values: list[int], before: list[int], size: type) -> None:
    names = [""] * len(values)
    chart = bar_chart(values, names, names, before[: len(values)], size, lambda _: "1.5k")  # type: ignore[arg-type]
    for bar, value in zip(chart.bars, values, strict=True):
        assert chart.left <= bar.x <= bar.x + bar.width <= chart.size.width
        assert ABOVE <= bar.y <= bar.y + bar.height == chart.floor
        assert bool(bar.height) == bool(value)
    for point in chart.before.split():
        x, y = map(int, point.split(","))
        assert chart.left <= x <= chart.size.width
        assert ABOVE <= y <= chart.floor
    assert len(chart.grid) <= 6


@given(st.lists(MINOR, max_size=8), st.integers(1, 1000))
def test_a_strip_is_as_wide_as_its_pieces(shares: list[int], width: int) -> None:
    parts = strip(shares, width)
    assert len(parts) == len(shares)
    if sum(shares):
        assert sum(part.width for part in parts) == width
        assert parts[0].x == 0


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(1, 3, "33.3"), (2, 3, "66.7"), (1, 1, "100.0"), (-1, 8, "-12.5"), (5, 0, "0.0"), (1, 9999, "0.0")],
)
def test_percentages(part: int, whole: int, text: str) -> None:
    assert format_percent(part, whole) == text
