"""The walks in `docs/walks.md` name files and definitions that exist, and count their stops truthfully."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parents[3]
PACKAGE = HERE / "src" / "tollhouse"
WALKS = (HERE / "docs" / "walks.md").read_text().split("\n## ")[1:]
STOP = re.compile(r"^\d+\. `([a-z_/]+\.py):(\w+)`( \(return\))?", re.MULTILINE)
NUMBERS = {"no": 0, "one": 1}


def definitions(path: Path) -> set[str]:
    """The names that a module defines."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.partition("\n")[0])
def test_a_walk_is_true(walk: str) -> None:
    stops = STOP.findall(walk)
    assert [stop for stop in stops if stop[1] not in definitions(PACKAGE / stop[0])] == []
    returns = [file for place, (file, *_) in enumerate(stops) if file in [stop[0] for stop in stops[:place]]]
    assert returns == [file for file, _, said in stops if said]
    claimed = re.search(r"^(\d+) stops, (\w+) returns?\.$", walk, re.MULTILINE)
    assert claimed is not None
    assert (int(claimed[1]), NUMBERS.get(claimed[2]) if claimed[2] in NUMBERS else int(claimed[2])) == (
        len(stops),
        len(returns),
    )
    assert len(stops) <= 20
    assert len(returns) <= 2
