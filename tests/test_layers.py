"""Every module is in a layer: of the whole package, and of its own package."""

import tomllib
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import ContractCheck

from tests.kinds_contract import KindsContract

HERE = Path(__file__).parent.parent
CONTRACTS: list[dict[str, Any]] = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_every_module_is_in_a_contract() -> None:
    """`lint-imports` finds the children of these packages that are in no layer."""
    graph = grimp.build_graph("tollhouse", cache_dir=None)
    complete = [one for one in CONTRACTS if one.get("exhaustive") or one["type"] == KindsContract.type_name]
    containers = {container for one in complete for container in one["containers"]}
    assert {module.rpartition(".")[0] for module in graph.modules} - {""} == containers


def contract(*kinds: str) -> ContractCheck:
    """The check of a package in which `pages` imports `store`, and `store` imports `model`."""
    graph = grimp.ImportGraph()
    graph.add_import(importer="shop.pages", imported="shop.store")
    graph.add_import(importer="shop.store", imported="shop.model")
    graph.add_module("shop")
    options = {"kinds": list(kinds), "containers": ["shop"]}
    return KindsContract("kinds", {"root_packages": ["shop"]}, options).check(graph, verbose=False)


@pytest.mark.parametrize(
    ("kinds", "broken"),
    [
        (("pages", "*", "model"), 0),
        (("pages store model",), 0),
        (("*", "pages"), 1),
        (("model", "*", "pages"), 2),
        (("pages", "store"), 1),
    ],
)
def test_an_import_of_a_higher_kind_is_found(kinds: tuple[str, ...], broken: int) -> None:
    check = contract(*kinds)
    assert (check.kept, len(check.metadata["found"])) == (not broken, broken)


def test_slices_hold_no_html() -> None:
    """Pages are in packages of their own; `identity` keeps those that its guards answer with (decision 0049).

    `mail` has the frame of emails (decision 0059).
    """
    package = HERE / "src" / "tollhouse"
    found = {path.parent.relative_to(package).as_posix() for path in package.glob("**/templates")}
    assert found == {
        "accounts/identity", "accounts/mail", "http", "instance/demo", "instance/docs", "pages/checkout", "pages/console",
        "pages/dashboard",
    }  # fmt: skip
