"""What a experiment found: figures, each beside its bound, printed as a table."""

from collections.abc import Sequence

from msgspec import Struct


class Figure(Struct, frozen=True):
    """One measured figure. `bound` is the limit as text, empty if there is none."""

    what: str
    value: str
    bound: str = ""
    holds: bool = True


def at_most(what: str, value: float, bound: float, *, unit: str = "") -> Figure:
    """A figure that must not be greater than its bound."""
    return Figure(what, with_unit(value, unit), f"at most {with_unit(bound, unit)}", value <= bound)


def at_least(what: str, value: float, bound: float, *, unit: str = "") -> Figure:
    """A figure that must not be smaller than its bound."""
    return Figure(what, with_unit(value, unit), f"at least {with_unit(bound, unit)}", value >= bound)


def fact(what: str, value: float, *, unit: str = "") -> Figure:
    """A figure without a bound."""
    return Figure(what, with_unit(value, unit))


def percentile(values: Sequence[float], part: float) -> float:
    """The value at this part (0 to 1) of the sorted values; 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def table(figures: Sequence[Figure]) -> str:
    """The figures as aligned lines."""
    names = max(len(figure.what) for figure in figures)
    values = max(len(figure.value) for figure in figures)
    lines = [
        f"{figure.what:<{names}}  {figure.value:>{values}}  {figure.bound}{'' if figure.holds else '  BROKEN'}".rstrip()
        for figure in figures
    ]
    return "\n".join(lines)


def with_unit(value: float, unit: str) -> str:
    """The number with its unit; whole numbers without decimals."""
    number = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return f"{number} {unit}".rstrip()
