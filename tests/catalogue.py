"""Prints the numbered behaviours that no test names yet: `python -m tests.catalogue O`."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache

from tests.sources import HERE, modules_below, nodes_of

NUMBERS = {
    "O": (range(1, 213),),
    "P": (range(1, 161), range(162, 168)),
    "W": (range(1, 91),),
    "S": (range(56, 62),),
}
FORM = re.compile(r"[A-Z]-[1-9][0-9]*")


def missing(prefix: str) -> list[str]:
    """The numbers of this chapter that no `@pytest.mark.covers(...)` names, in order."""
    return [number for part in NUMBERS[prefix] for n in part if (number := f"{prefix}-{n}") not in covered()]


def strays() -> list[str]:
    """What tests name although there is no such number."""
    known = {f"{prefix}-{n}" for prefix, parts in NUMBERS.items() for part in parts for n in part}
    return sorted(number for number in covered() - known if number[0] in NUMBERS or not FORM.fullmatch(number))


@cache
def covered() -> frozenset[str]:
    """Every number that a test names."""
    return frozenset(_covered())


def _covered() -> Iterator[str]:
    for path in modules_below(HERE / "tests"):
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "covers":
                yield from (str(ast.literal_eval(number)) for number in node.args)


def main(prefixes: list[str]) -> int:
    """Print what is missing, a number a line; 2 for a chapter that there is not, 1 when something is missing."""
    if not prefixes or not set(prefixes) <= set(NUMBERS):
        sys.stderr.write(f"Name one or more of {', '.join(NUMBERS)}.\n")
        return 2
    lines = [number for prefix in prefixes for number in missing(prefix)]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
