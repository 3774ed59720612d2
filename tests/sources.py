"""Our own source, for tests that look at all of it: each file is read and parsed once in a process.

The tests that do so are of one group, which runs in one process: reading everything takes longer than most of them.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
PACKAGE = HERE / "src" / "tollhouse"
OF_THE_SOURCE = pytest.mark.xdist_group("source")
"""The mark of a file, or of a test, that reads all of it."""


@cache
def text_of(path: Path) -> str:
    """What is in this file."""
    return path.read_text("utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """This module, parsed: nobody may change it."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of this module, outer ones first."""
    return tuple(ast.walk(tree_of(path)))


@cache
def modules_below(folder: Path) -> tuple[Path, ...]:
    """All modules in this folder and below, in order."""
    return tuple(sorted(folder.rglob("*.py")))
