"""The picture of the layers: the packages in the order that import-linter enforces, with numbers from their imports."""

import ast
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import grimp

HERE = Path(__file__).parent.parent
ARCHITECTURE = HERE / "docs" / "architecture.md"
PICTURE = HERE / "docs" / "pictures" / "layers.svg"
WIDTH, ROW, BOX, LETTER, GAP = 1180, 62, 42, 7.8, 12
STYLE = """
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2430; text-anchor: middle }
  .count { font-size: 10.5px; fill: #596076 } .box { fill: #ffffff; stroke: #5a5fd0; stroke-width: 1.2 }
  .odd { fill: #f1f2fa } .even { fill: #e7e9f6 }
"""


def layers() -> list[list[str]]:
    """The packages by layer, the highest first, as `pyproject.toml` orders them."""
    contracts = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows: list[str] = contracts[0]["layers"]
    return [[name.strip().removeprefix("tollhouse.") for name in row.split("|")] for row in rows]


def architecture() -> str:
    """The page on the architecture with the present block of packages."""
    before, _, rest = ARCHITECTURE.read_text().partition("```\n")
    return f"{before}```\n{block()}\n```{rest.partition('```')[2]}"


def imports(packages: Sequence[str]) -> set[tuple[str, str]]:
    """Every pair of packages of which the first imports the second."""
    graph = grimp.build_graph("tollhouse", cache_dir=None)
    known = set(packages)
    found: set[tuple[str, str]] = set()
    for module in graph.modules:
        importer = module.removeprefix("tollhouse.").split(".")[0]
        for imported in graph.find_modules_directly_imported_by(module):
            pair = importer, imported.removeprefix("tollhouse.").split(".")[0]
            if pair[0] != pair[1] and known.issuperset(pair):
                found.add(pair)
    return found


def block() -> str:
    """The packages from the highest to the lowest, each with its first sentence and its packages, for the documentation."""
    rows: list[str] = []
    for height, row in zip(range(len(layers()), 0, -1), layers(), strict=True):
        for name in row:
            folder = HERE / "src" / "tollhouse" / name
            first = (ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or "").partition("\n\n")[0]
            inside = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
            rows.append(f"{height:>2}  {name:<10} {' '.join(first.split())}")
            rows += textwrap.wrap(", ".join(inside), 110, initial_indent=" " * 15, subsequent_indent=" " * 15)
    return "\n".join(rows)


def lines(row: Sequence[str]) -> Iterator[list[str]]:
    """The boxes of a layer, as many beside each other as fit."""
    line: list[str] = []
    for name in row:
        if line and sum(_width(one) + GAP for one in [*line, name]) > WIDTH - 2 * GAP:
            yield line
            line = []
        line.append(name)
    yield line


def draw() -> str:
    """The picture as SVG: a band for each layer, and in each box how many packages import it and how many it imports."""
    rows = layers()
    pairs = imports([name for row in rows for name in row])
    shapes: list[str] = []
    top = 0
    for number, row in enumerate(rows):
        parts = list(lines(row))
        height = len(parts) * ROW
        shapes.append(f'<rect class="{"even" if number % 2 else "odd"}" y="{top}" width="{WIDTH}" height="{height}"/>')
        for line in parts:
            left = (WIDTH - sum(_width(name) + GAP for name in line) + GAP) / 2
            for name in line:
                used_by = sum(imported == name for _, imported in pairs)
                uses = sum(importer == name for importer, _ in pairs)
                shapes += _box(name, f"used by {used_by}, uses {uses}", left, top + (ROW - BOX) / 2)
                left += _width(name) + GAP
            top += ROW
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-label="The layers">'
    return "\n".join([head, f"<style>{STYLE}</style>", *shapes, "</svg>", ""])


def _width(name: str) -> float:
    return max(len(name) * LETTER + 22, 112)


def _box(name: str, count: str, left: float, top: float) -> list[str]:
    middle = left + _width(name) / 2
    return [
        f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{_width(name):.1f}" height="{BOX}" rx="6"/>',
        f'<text x="{middle:.1f}" y="{top + 18:.1f}">{escape(name)}</text>',
        f'<text class="count" x="{middle:.1f}" y="{top + 33:.1f}">{escape(count)}</text>',
    ]
