"""Which characters a name may hold: what its reader sees, and in the order it is written."""

from unicodedata import category

FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""They are letters and marks by category, and show nothing."""
LINE_BREAKS = frozenset("\r\n\t")


def is_readable(text: str, but: frozenset[str] = frozenset()) -> bool:
    """Whether it holds no control, bidirectional, zero-width or other invisible character but these."""
    if text.isprintable() and FILLERS.isdisjoint(text):
        return True
    return all(char in but or _shows(char) for char in text)


def _shows(char: str) -> bool:
    return (char.isprintable() or category(char) == "Zs") and char not in FILLERS
