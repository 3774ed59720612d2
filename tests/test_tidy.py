"""Our taste, as tests: sizes, names, where SQL stands, one clock, no float for money, documents that are true."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType

import pytest

from tests.sources import HERE, OF_THE_SOURCE, modules_below, nodes_of, text_of, tree_of

pytestmark = OF_THE_SOURCE
PACKAGE = modules_below(HERE / "src")
OURS = [*PACKAGE, *modules_below(HERE / "tests"), *modules_below(HERE / "chaos")]
NAMELESS = re.compile(r"(utils?|helpers?|common|managers?|misc)\.py")
EMPTY_VERBS = re.compile(r"_?(process|handle|manage|perform)(_|$)")
SQL = re.compile(r"\b(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b", re.DOTALL)
SQL_ALLOWED = {"migrations.py", "health.py", "embedded.py", "records.py", "digests_store.py"}
FLOAT_ALLOWED = {
    "embedded.py",
    "run.py",
    "config.py",
    "outbound.py",
    "results.py",
    "worker.py",
    "slice.py",
    "supervisor.py",
    "pool.py",
    "transaction.py",
    "clock.py",
    "connection_limits.py",
    "semaphore.py",
    "values.py",
    "protocol.py",
    "sink.py",
    "passwords.py",
    "database_metrics.py",
    "exporter.py",
    "sequence_diagram.py",
}
LINES_MAX, FUNCTION_LINES_MAX = 400, 50
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def problems(path: Path) -> Iterator[str]:
    """What is untidy in this file."""
    text, tree = text_of(path), tree_of(path)
    if NAMELESS.fullmatch(path.name):
        yield "the name says nothing"
    if not ast.get_docstring(tree):
        yield "no first line that says what it is for"
    if text.count("\n") > LINES_MAX:
        yield f"more than {LINES_MAX} lines"
    for node in nodes_of(path):
        if isinstance(node, Function):
            if (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES_MAX:
                yield f"{node.name} is longer than {FUNCTION_LINES_MAX} lines"
            if EMPTY_VERBS.match(node.name):
                yield f"{node.name} names no deed"
    if path in PACKAGE:
        yield from package_problems(path, text, tree)


def package_problems(path: Path, text: str, tree: ast.Module) -> Iterator[str]:
    """What only the package must keep."""
    if path.name != "clock.py" and "datetime.now(" in text:
        yield "use clock.now()"
    if path.name not in SQL_ALLOWED:
        yield from sql_problems(path, tree)
    for node in nodes_of(path):
        said = isinstance(node, ast.Name) and node.id == "float"
        written = isinstance(node, ast.Constant) and isinstance(node.value, float)
        if isinstance(node, ast.expr) and (said or written) and path.name not in FLOAT_ALLOWED:
            yield f"a float, line {node.lineno}"
        if isinstance(node, ast.arg) and node.arg in {"amount", "timeout", "size"} and node.annotation:
            yield from [f"{node.arg} has no unit in its name, line {node.lineno}"] * (ast.unparse(node.annotation) == "int")


def sql_problems(path: Path, tree: ast.Module) -> Iterator[str]:
    """SQL stands in stores. Column lists are inserted into constants; no function composes a statement."""
    if not path.name.endswith("store.py"):
        yield from (f"SQL outside a store, line {line}" for line in sql_lines(tree, ast.Constant | ast.JoinedStr))
    for node in nodes_of(path):
        if isinstance(node, Function):
            yield from (f"SQL composed by a function, line {line}" for line in sql_lines(node, ast.JoinedStr))


def sql_lines(tree: ast.AST, kind: UnionType | type[ast.expr]) -> Iterator[int]:
    """The lines of texts that are SQL. What an f-string inserts counts as a column."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and isinstance(node, kind):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            if SQL.search("".join(str(part.value) if isinstance(part, ast.Constant) else "id" for part in parts)):
                yield node.lineno


def test_every_file_is_tidy() -> None:
    found = {str(path.relative_to(HERE)): list(problems(path)) for path in OURS}
    assert {name: untidy for name, untidy in found.items() if untidy} == {}


def test_no_template_style_script_or_migration_is_too_long() -> None:
    for path in HERE.glob("src/**/*"):
        if path.suffix in {".css", ".js", ".html", ".sql", ".toml"} and not path.name.endswith("_baseline.sql"):
            assert path.read_text().count("\n") <= LINES_MAX, path


def test_nothing_of_ours_is_mocked() -> None:
    for path in modules_below(HERE / "tests"):
        assert "unittest" + ".mock" not in text_of(path), path


def test_no_set_outside_set_local() -> None:
    """A setting that lingers on a lent connection would meet the next request."""
    lingering = re.compile(r"\"\s*SET (?!LOCAL)[a-z_]+ (=|TO)|pg_advisory_lock|pg_try_advisory_lock|\"\s*LISTEN\b")
    for path in PACKAGE:
        assert not lingering.search(text_of(path)), path


def test_chapters_are_links_to_the_documentation() -> None:
    chapters = sorted((HERE / "src" / "tollhouse" / "instance" / "docs" / "chapters").iterdir())
    assert chapters
    assert not [path.name for path in chapters if not path.is_symlink()], "a copy becomes outdated: link to docs/"


def test_every_link_between_documents_leads_to_a_file() -> None:
    link = re.compile(r"\]\((?!https?:|/|#|mailto:)([^)#\s]+)")
    documents = [*HERE.glob("*.md"), *HERE.glob("docs/**/*.md")]
    targets = {(path, path.parent / target) for path in documents for target in link.findall(path.read_text())}
    assert HERE / "docs/decisions/0061-forms.md" in {target for _, target in targets}
    assert not [(str(path), str(target)) for path, target in targets if not target.exists()]


def test_every_module_that_a_document_names_is_there() -> None:
    """A module is named by its path in the package or in the project."""
    package = HERE / "src" / "tollhouse"
    documents = [*HERE.glob("*.md"), *(HERE / "docs").rglob("*.md")]
    named = {
        (path, document.name)
        for document in documents
        for path in re.findall(r"`([a-z_]+/[\w/]+\.py)[`:]", document.read_text())
    }
    assert ("oauth/token.py", "architecture.md") in named
    assert not [one for one in named if not (package / one[0]).is_file() and not (HERE / one[0]).is_file()]


def test_every_file_to_start_with_is_there() -> None:
    """The first file of a package names those to start with, from its own folder."""
    named = [
        path.parent / name
        for path in PACKAGE
        if path.name == "__init__.py"
        for name in re.findall(r"`([a-z_/]+\.py)`", path.read_text())
    ]
    assert HERE / "src/tollhouse/ledger/books/post.py" in named
    assert not [str(path) for path in named if not path.is_file()]


@pytest.mark.long
def test_every_benchmark_and_experiment_can_be_imported() -> None:
    """The suite does not run them; a module that was moved is found here. Programs of other servers import those."""
    found = [path.relative_to(HERE) for part in ("benchmarks", "chaos") for path in (HERE / part).rglob("*.py")]
    programs = HERE / "benchmarks" / "peers" / "programs"
    assert programs.is_dir()
    files = [path for path in found if (HERE / path).parent != programs]
    names = [".".join(path.with_suffix("").parts) for path in files if path.name != "__init__.py"]
    run = [sys.executable, "-c", "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]", *names]
    subprocess.run(run, cwd=HERE, check=True)


def test_every_decision_is_in_the_list() -> None:
    decisions = HERE / "docs" / "decisions"
    listed = re.findall(r"^\| \[\d{4}\]\(([\w.-]+)\)", (decisions / "README.md").read_text(), re.MULTILINE)
    assert listed == sorted(path.name for path in decisions.glob("0*.md"))
