"""Charts in numbers: lines in proportion, round lines of a grid, strips without gaps."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollhouse.http.charts import HEIGHT, WIDTH, format_percent, line_chart, sparkline, step_of, strip

MINOR = st.integers(0, 2**60)


@pytest.mark.parametrize(
    ("top", "step"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 5), (20, 5), (21, 10), (4_626_000, 2_000_000)]
)
def test_lines_of_the_grid_are_at_round_numbers(top: int, step: int) -> None:
    assert step_of(top) == step


def test_a_line_is_as_high_as_its_values() -> None:
    chart = line_chart([0, 10, 20, 1], list("abcd"), [20], described=str, written=str)
    assert chart.now == f"M0 {HEIGHT}L1000 {HEIGHT // 2}L2000 0L3000 {HEIGHT - HEIGHT // 20}"
    assert chart.area == f"{chart.now}L{WIDTH} {HEIGHT}L0 {HEIGHT}Z"
    assert chart.before == "M0 0"
    assert [line.text for line in chart.grid] == ["20", "15", "10", "5", "0"]
    assert (chart.grid[0].y, chart.grid[-1].y) == (0, HEIGHT)
    assert [(point.x, point.width) for point in chart.points] == [(0, 500), (500, 1000), (1500, 1000), (2500, 500)]
    assert chart.points[1].words == "b: 10"
    assert chart.highest == "c: 20"
    assert chart.names == ("a", "b", "c", "d")


def test_a_single_value_is_a_level_line() -> None:
    chart = line_chart([4], ["a"], [], described=str, written=str)
    assert (chart.now, chart.before) == (f"M0 0L{WIDTH} 0", "")
    assert [(point.x, point.width) for point in chart.points] == [(0, WIDTH)]
    assert sparkline([0, 0]).line == "M0 84L300 84"


def test_names_that_do_not_fit_are_left_out() -> None:
    names = [str(day) for day in range(31)]
    assert line_chart([1] * 31, names, [], described=str, written=str).names == ("0", "7", "15", "22", "30")


@given(st.lists(MINOR, min_size=1, max_size=62), st.lists(MINOR, max_size=62))
def test_everything_stays_within_its_box(values: list[int], before: list[int]) -> None:
    chart = line_chart(values, [""] * len(values), before[: len(values)], described=str, written=lambda _: "1.5k")
    for x, y in (map(int, point.split()) for point in re.split("[ML]", chart.now + chart.before) if point):
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    assert sum(point.width for point in chart.points) == WIDTH
    assert all(point.width > 0 for point in chart.points)
    assert len(chart.grid) <= 6


@given(st.lists(MINOR, max_size=8))
def test_a_strip_is_as_wide_as_its_pieces(shares: list[int]) -> None:
    parts = strip(shares).segments
    assert len(parts) == len(shares)
    if sum(shares):
        assert sum(part.width for part in parts) == strip(shares).width
        assert parts[0].x == 0


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(1, 3, "33.3"), (2, 3, "66.7"), (1, 1, "100.0"), (-1, 8, "-12.5"), (5, 0, "0.0"), (1, 9999, "0.0")],
)
def test_percentages(part: int, whole: int, text: str) -> None:
    assert format_percent(part, whole) == text
