"""A contract of import-linter: each module of a package has a kind by its name, and imports none of a higher kind."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class KindsContract(Contract):
    """Options: `kinds`, the highest first, each with patterns of names; `containers`, the packages.

    A name has the kind of the longest pattern that fits.
    """

    type_name = "kinds"

    kinds: Any = fields.ListField(subfield=fields.StringField())
    containers: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find the modules without a kind, and the imports of a higher one."""
        del verbose
        found = [line for container in self.containers for line in _broken(graph, container, _patterns(self.kinds))]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line for each."""
        for line in check.metadata["found"]:
            output.print_error(line)


def _patterns(kinds: Sequence[str]) -> dict[str, int]:
    """Each pattern with the height of its kind."""
    return {pattern: -place for place, kind in enumerate(kinds) for pattern in kind.split()}


def _broken(graph: ImportGraph, container: str, patterns: dict[str, int]) -> Iterator[str]:
    children = graph.find_children(container)
    heights = {child: _height(child.removeprefix(f"{container}."), patterns) for child in sorted(children)}
    for child, height in heights.items():
        if height is None:
            yield f"{child} is of no kind: add its name to a kind in pyproject.toml"
            continue
        for imported in sorted(graph.find_modules_directly_imported_by(child) & children):
            other = heights[imported]
            if other is not None and other > height:
                yield f"{child} imports {imported}, which is of a higher kind"


def _height(name: str, patterns: dict[str, int]) -> int | None:
    fitting = [pattern for pattern in patterns if fnmatchcase(name, pattern)]
    return patterns[max(fitting, key=len)] if fitting else None
