"""Which operations, commands and jobs can post to the ledger: found by reading which function names which."""

import ast
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from cyclopts import App
from msgspec import Struct

import tollhouse
from tests.sources import tree_of
from tollhouse.http.cookies import SAFE
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.cli.main import app
from tollhouse.instance.main import JOBS
from tollhouse.ledger.books import holds, post
from tollhouse.ledger.books.model import Source

Name = tuple[str, str]
"""Module and qualified name of a function."""
POSTS: tuple[Any, ...] = (
    post.post,
    post.post_now,
    post.post_platform,
    holds.reserve,
    holds.capture,
    holds.capture_and_release,
    holds.release,
)
POSTING: set[Name] = {(function.__module__, function.__qualname__) for function in POSTS}


ANY = "*"
"""The name of what is called without one, such as a member of a list."""
ALWAYS = {"__init__", "__post_init__", "__call__", "__enter__", "__aenter__"}


class Named(NamedTuple):
    """What a function names: functions, what classes and constants offer by name, and the names that it asks for."""

    functions: set[Name]
    offered: set[tuple[str, Name]]
    asked: set[str]


@cache
def reached() -> dict[str, set[str]]:
    """For each way in that can post: the types of the sources of what it posts."""
    graph, posted = _graph()
    found: dict[str, set[str]] = {}
    for way, function in ways():
        sources = {source for one in _all_from(_name(function), graph) for source in posted.get(one, ())}
        if sources:
            found[way] = found.get(way, set()) | sources
    return found


def ways() -> Iterator[tuple[str, Any]]:
    """Every operation that may change something, every command and every job, with its function."""
    for operation in OPERATIONS:
        if operation.method not in SAFE:
            yield f"{operation.method} {operation.full_path}", operation.handler
    for job in JOBS:
        yield f"job {_name(job.run)[0].removeprefix('tollhouse.')}.{job.run.__name__}", job.run
    yield from commands(app, "tollhouse")


def commands(group: App, path: str) -> Iterator[tuple[str, Any]]:
    """Every command below this one, with its function."""
    if group.default_command is not None:
        yield path, group.default_command
    for name in group:
        if not name.startswith("-"):
            yield from commands(group[name], f"{path} {name}")


@cache
def _graph() -> tuple[dict[Name, "Named"], dict[Name, set[str]]]:
    """Which function names which, and the types of the sources that a function posts with."""
    graph: dict[Name, Named] = {}
    posted: dict[Name, set[str]] = {}
    for module in _modules():
        tree = tree_of(Path(str(module.__file__)))
        in_module = _sources(module, tree)
        for qualified, node, owner in _functions(tree):
            named = graph[module.__name__, qualified] = _read(module, node, owner)
            if named.functions & POSTING and not module.__name__.startswith("tollhouse.ledger.books."):
                posted[module.__name__, qualified] = _sources(module, node) or in_module
    by_package: defaultdict[str, set[str]] = defaultdict(set)
    for module in _modules():
        if isinstance(source := getattr(module, "SOURCE", None), str):
            by_package[module.__name__.rpartition(".")[0]].add(source)
    return graph, {one: sources or by_package[one[0].rpartition(".")[0]] for one, sources in posted.items()}


def _modules() -> Iterator[ModuleType]:
    for walk_package in pkgutil.walk_packages(tollhouse.__path__, "tollhouse."):
        if not walk_package.name.endswith("__main__"):
            yield importlib.import_module(walk_package.name)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST, str | None]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node, None
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{inner.name}", inner, node.name


def _read(module: ModuleType, node: ast.AST, owner: str | None) -> "Named":
    """The functions that this one names; by name, those of the classes and constants that it names; and what it asks for."""
    found = Named(set(), set(), set())
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute):
            found.asked.add(one.attr)
            if isinstance(one.value, ast.Name) and one.value.id == "self" and owner:
                found.functions.add((module.__name__, f"{owner}.{one.attr}"))
        if isinstance(one, ast.Name | ast.Attribute):
            value = _resolved(module, one)
            if isinstance(value, FunctionType):
                found.functions.add(_name(value))
            else:
                found.offered.update(_members(value))
    return found


def _resolved(module: ModuleType, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_resolved(module, node.value), node.attr, None)
    return None


def _members(value: Any, depth: int = 2) -> Iterator[tuple[str, Name]]:
    """The functions of a class or of a constant, each under the name by which it is called."""
    if isinstance(value, type) and value.__module__.startswith("tollhouse."):
        yield from ((name, _name(one)) for name, one in vars(value).items() if isinstance(one, FunctionType))
    elif depth and isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _member(name, getattr(value, name), depth)
    elif depth and isinstance(value, dict | tuple | list):
        for one in value.values() if isinstance(value, dict) else value:  # pyright: ignore[reportUnknownVariableType]
            yield from _member(ANY, one, depth)


def _member(name: str, value: Any, depth: int) -> Iterator[tuple[str, Name]]:
    if isinstance(value, FunctionType):
        yield name, _name(value)
    else:
        yield from _members(value, depth - 1)


def _sources(module: ModuleType, tree: ast.AST) -> set[str]:
    """The types of the sources that are made here."""
    made = [
        _resolved(module, node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and _resolved(module, node.func) is Source
    ]
    constants = [one for one in (getattr(module, "SOURCE", None),) if isinstance(tree, ast.Module)]
    return {one for one in (*made, *constants) if isinstance(one, str)}


def _name(function: Any) -> Name:
    function = inspect.unwrap(function)
    function = getattr(function, "func", function)
    return function.__module__, function.__qualname__


def _all_from(start: Name, graph: dict[Name, "Named"]) -> set[Name]:
    """All functions that this one can come to: named, or asked for by name of something that was named before."""
    seen, waiting = set[Name](), [start]
    offered, asked = defaultdict[str, set[Name]](set), {ANY, *ALWAYS}
    while waiting:
        one = waiting.pop()
        if one in seen or one not in graph:
            continue
        seen.add(one)
        named = graph[one]
        asked |= named.asked
        for name, function in named.offered:
            offered[name].add(function)
        waiting += named.functions
        waiting += [function for name in asked & offered.keys() for function in offered[name] - seen]
    return seen
