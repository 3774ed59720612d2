"""Which characters free text may hold: what its reader sees, and in the order it is written.

That is the one rule for names, account holders, references, descriptions and notes of others. Text that was stored or
imported without it is shown with escapes.
"""

import re
from unicodedata import category

FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""They are letters and marks by category, and show nothing."""
JOINERS = frozenset("\u200c\u200d")
"""Scripts such as Persian and Hindi are not spelt without them, nor are many emojis."""
LINE_FEEDS = frozenset("\n")
"""What descriptions and notes may hold besides."""
MISLEADING = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f"
    "\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\U000e0000-\\U000e0fff]"
)
"""What is escaped on pages: found in one pass over a whole page."""


def is_readable(text: str, but: frozenset[str] = frozenset()) -> bool:
    """Whether it holds no control, bidirectional, zero-width or other invisible character but joiners and these."""
    if text.isprintable() and FILLERS.isdisjoint(text):
        return True
    return all(char in but or _shows(char) for char in text)


def escape_unreadable(text: str) -> str:
    r"""The text with `\u202e` and the like for what changes or hides other text; line breaks and tabs stay."""
    return MISLEADING.sub(_escaped, text)


def _shows(char: str) -> bool:
    return (char.isprintable() or char in JOINERS or category(char) == "Zs") and char not in FILLERS


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the last one with four digits
