"""What a proof found: figures, each beside its bound, printed as a table."""

from collections.abc import Sequence

from msgspec import Struct


class Figure(Struct, frozen=True):
    """One measured figure. `bound` says in words what it must keep; it is empty where nothing is demanded."""

    what: str
    value: str
    bound: str = ""
    holds: bool = True


def must(what: str, value: float, bound: float, *, unit: str = "") -> Figure:
    """A figure that must not be greater than its bound."""
    return Figure(what, spelt(value, unit), f"at most {spelt(bound, unit)}", value <= bound)


def at_least(what: str, value: float, bound: float, *, unit: str = "") -> Figure:
    """A figure that must not be smaller than its bound."""
    return Figure(what, spelt(value, unit), f"at least {spelt(bound, unit)}", value >= bound)


def fact(what: str, value: float, *, unit: str = "") -> Figure:
    """A figure for whoever reads it."""
    return Figure(what, spelt(value, unit))


def percentile(values: Sequence[float], part: float) -> float:
    """The value that this part of all stays below or at; 0 of nothing."""
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


def spelt(value: float, unit: str) -> str:
    """The number with its unit; whole ones without decimals."""
    number = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return f"{number} {unit}".rstrip()
