"""Amounts: decimal strings outside, whole minor units inside. No float and no Decimal ever touches money."""

import re
from collections.abc import Callable

AMOUNT = re.compile(r"(?P<whole>0|[1-9][0-9]{0,17})(?:\.(?P<part>[0-9]{1,8}))?")
"""Digits only, bounded, and no zero before another digit: Decimal() would also read `1e400`, `NaN` and Arabic digits."""

MINOR_MAX = 2**53 - 1
"""The largest amount in minor units: fits a bigint and a JSON integer that every client can read."""

SCALES = ((6, "M"), (3, "k"))


def parse_amount(text: str, decimals: int, least: int = 1) -> int | None:
    """Minor units of a decimal string of at most `decimals` digits after the point; None when it is not at least `least`."""
    match = AMOUNT.fullmatch(text)
    if match is None:
        return None
    part = match["part"] or ""
    if len(part) > decimals:
        return None
    minor = int(match["whole"] + part.ljust(decimals, "0"))
    return minor if least <= minor <= MINOR_MAX else None


def format_minor(minor: int, decimals: int) -> str:
    """The canonical decimal string of `minor`, with exactly `decimals` digits after the point."""
    sign, digits = ("-", str(-minor)) if minor < 0 else ("", str(minor))
    if decimals == 0:
        return sign + digits
    digits = digits.rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def trimmed(text: str) -> str:
    """A decimal string without the zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def percentage(minor: int, basis_points: int) -> int:
    """`basis_points` hundredths of a percent of `minor`, rounded up: a share above zero never costs nothing."""
    return -(-minor * basis_points // 10_000)


def short(decimals: int) -> Callable[[int], str]:
    """How amounts of so many decimals are written beside a chart: `250`, `1.5k`, `2M`."""

    def written(minor: int) -> str:
        for places, sign in SCALES:
            if minor >= 10 ** (places + decimals):
                return trimmed(format_minor(minor, places + decimals)) + sign
        return trimmed(format_minor(minor, decimals))

    return written
