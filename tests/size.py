"""How large the code is, without blanks, comments, docstrings and imports, and what stands twice: `python -m tests.size`."""

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import median

from tests.sources import PACKAGE, modules_below, nodes_of, text_of

BLOCK = 6
"""So many equal lines of code in a row, in two packages, are one piece of code that stands twice."""
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


@cache
def code_lines(path: Path) -> list[tuple[int, str]]:
    """Number and text of each line of code."""
    source = text_of(path)
    left_out: set[int] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    counted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            counted.update(range(token.start[0], token.end[0] + 1))
    lines = source.splitlines()
    return [(number, lines[number - 1].strip()) for number in sorted(counted - left_out) if lines[number - 1].strip()]


def files() -> Iterator[tuple[str, Path]]:
    """Each module with its package."""
    for path in modules_below(PACKAGE):
        yield path.relative_to(PACKAGE).parts[0], path


def code_sizes() -> Counter[str]:
    """Lines of code of each package."""
    sizes: Counter[str] = Counter()
    for package, path in files():
        sizes[package] += len(code_lines(path))
    return sizes


def equal_blocks() -> list[str]:
    """Where the same lines of code stand in two packages: both places of each block."""
    seen: defaultdict[tuple[str, ...], list[tuple[str, Path, int]]] = defaultdict(list)
    for package, path in files():
        lines = code_lines(path)
        for start in range(len(lines) - BLOCK + 1):
            block = lines[start : start + BLOCK]
            seen[tuple(text for _, text in block)].append((package, path, block[0][0]))
    return sorted(
        " ~ ".join(f"{path.relative_to(PACKAGE)}:{line}" for _, path, line in places)
        for places in seen.values()
        if len({package for package, _, _ in places}) > 1
    )


def main() -> None:
    """Print lines of code and files of each package, and the blocks that stand twice."""
    sizes = code_sizes()
    total = sum(sizes.values())
    counts = {package: [line_count(path) for _, path in group] for package, group in groupby(files(), lambda file: file[0])}
    lines = [
        f"{package:<12} {size:>6} lines {size / total:>6.1%} {len(counts[package]):>4} files, "
        f"{sum(count < 60 for count in counts[package])} of them with fewer than 60 lines"
        for package, size in sizes.most_common()
    ]
    middle = median(count for each in counts.values() for count in each)
    lines.append(f"{'all':<12} {total:>6} lines, the median of a file's lines is {middle:.0f}")
    sys.stdout.write("\n".join([*lines, *equal_blocks()]) + "\n")


def line_count(path: Path) -> int:
    """All lines of a file."""
    return len(text_of(path).splitlines())


if __name__ == "__main__":
    main()
