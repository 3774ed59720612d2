"""The texts of all pages, gathered from templates and Python. Run as a module, it brings every catalogue up to date.

A new text stands in the catalogue without a translation then, one that is gone has left it, and what is missing is listed.
Given a file, it takes what is missing from there: on each line a text, a tab, the translation; of a plural both, by ` || `.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment

from tests.sources import HERE, PACKAGE, modules_below, nodes_of
from tollhouse.accounts.approvals.model import Action
from tollhouse.http.languages import ENGLISH, LANGUAGES
from tollhouse.http.statuses import MARKS, words_of

TRANSLATED = [language for language in LANGUAGES if language != ENGLISH]
TEMPLATES = sorted(path for path in PACKAGE.glob("**/templates/**/*.html") if "demo" not in path.parts)
WORDS = PACKAGE / "http" / "labels.py"
STATUSES, ACTIONS = PACKAGE / "http" / "statuses.py", PACKAGE / "accounts" / "approvals" / "model.py"
"""Where the words of statuses and of operators' actions come from."""
MODULES = modules_below(PACKAGE)
NO_PAGES = {
    "api",
    "backup",
    "cli",
    "database",
    "demo",
    "docs",
    "doctor",
    "mcp",
    "monitoring",
    "platform",
    "signer",
    "trace",
    "tracing",
}
"""Parts whose sentences no page shows, or that are English by nature."""
API_ONLY = re.compile(
    r"(authorize|token|revoke|client_auth|descriptions|reference|json_text|catalogue_api|users|scales|openapi\w*|\w+_metrics)\.py"
)
"""Modules whose sentences only an API or a command says."""
PHRASES = re.compile(
    r"(\w+_)*pages\.py|app_form\.py|labels\.py|key_presets\.py|schema_fields\.py|scopes\.py"
    r"|new_(link|payment_link|withdrawal)\.py|overview\.py|consent\.py"
)
"""Modules in which every string that begins with a capital is a text, be it a single word."""
SENTENCE = re.compile(r"[A-Z%][^\n]* [^\n]*[.?!]")
PHRASE = re.compile(r"[A-Z][A-Za-z]*(?:-[a-z]+)*(?: [^\n]*|[a-z.]*)|%\(\w+\)s [a-z][^\n]*|[A-Z][^\n]* %\(\w+\)s[^\n]*")
NO_TEXT = re.compile(r"ETag|[A-Z][a-z]+(?:-[A-Z][a-z]+)+|[A-Z]+|Set-Cookie|Basic .*|Bearer .*")
HEADER = """# What pages say. Made from the templates and modules by `just texts`, which keeps what is translated.
msgid ""
msgstr ""
"Language: {language}\\n"
"Plural-Forms: {plurals}\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""
"""Without the dates and names that change each time."""
BOTH = " || "
PLACE = re.compile(r"%\((\w+)\)s")
VALUE = "%(value)s"
Key = str | tuple[str, str]


@cache
def texts() -> dict[Key, set[str]]:
    """Every text, and the files that say it. A text with a plural is a pair."""
    found: dict[Key, set[str]] = {}
    for path, text in [*_of_templates(), *_of_python()]:
        found.setdefault(text, set()).add(path.relative_to(HERE).as_posix())
    return found


def catalogue_path(language: str) -> Path:
    """Where the catalogue of a language stands."""
    return PACKAGE / "http" / "locale" / language / "LC_MESSAGES" / "tollhouse.po"


def catalogue(language: str) -> Catalog:
    """The catalogue of a language as it stands."""
    with catalogue_path(language).open("rb") as lines:
        return read_po(lines, locale=language)


def missing(language: str) -> list[Key]:
    """What the catalogue does not say in this language."""
    known = catalogue(language)
    return [text for text in texts() if not _said(known, text)]


def write(language: str, more: dict[str, str] | None = None) -> None:
    """Bring the catalogue up to date: the texts that there are, translated as it has them, or as `more` does."""
    path = catalogue_path(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    known = catalogue(language) if path.exists() else Catalog(locale=language)
    made = Catalog(locale=language)
    for text, paths in sorted(texts().items(), key=lambda one: str(one[0])):
        earlier = known.get(text[0] if isinstance(text, tuple) else text)
        kept = earlier.string if earlier is not None and isinstance(earlier.id, tuple) == isinstance(text, tuple) else None
        if not (all(kept) if isinstance(kept, tuple) else kept) and more:
            kept = tuple(pair) if len(pair := more.get(_line(text), "").split(BOTH)) > 1 else pair[0]
        made.add(text, kept or "", locations=[(name, 0) for name in sorted(paths)])
    written = BytesIO()
    write_po(written, made, width=120, omit_header=True, include_lineno=False)
    path.write_text(HEADER.format(language=language, plurals=made.plural_forms) + written.getvalue().decode())


def pairs(path: Path) -> dict[str, str]:
    """Translations from a file that has a text, a tab and what it is in the other language on each line."""
    return dict(line.split("\t", 1) for line in path.read_text().splitlines() if "\t" in line)


def _line(text: Key) -> str:
    return text if isinstance(text, str) else BOTH.join(text)


def _said(known: Catalog, text: Key) -> bool:
    message = known.get(text[0] if isinstance(text, tuple) else text)
    if message is None or isinstance(message.id, tuple) != isinstance(text, tuple):
        return False
    return all(message.string) if isinstance(message.string, tuple) else bool(message.string)


def _of_templates() -> Iterator[tuple[Path, Key]]:
    reader = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"])
    reader.policies["ext.i18n.trimmed"] = True
    for path in TEMPLATES:
        extracted: list[Any] = list(reader.extract_translations(path.read_text()))  # type: ignore[attr-defined]
        for _, kind, found in extracted:
            said: list[str] = [found] if isinstance(found, str) else [text for text in found if text is not None]
            yield path, ((said[0], said[1]) if kind == "ngettext" else said[0])


def _of_python() -> Iterator[tuple[Path, Key]]:
    for path in MODULES:
        yield from ((path, template) for template, _ in text_calls(path) if PLACE.sub("", template).strip())
        yield from ((path, text) for node, text in _sentences(path) if not isinstance(node, ast.JoinedStr))
    yield from ((STATUSES, words_of(status)) for status in MARKS)
    yield from ((ACTIONS, words_of(action)) for action in get_args(Action))


def text_calls(path: Path) -> Iterator[tuple[str, set[str | None]]]:
    """The templates of all `Text(…)` of a module, and the names of their values."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text":
            [template] = node.args
            if isinstance(template, ast.Constant):
                yield str(template.value), {keyword.arg for keyword in node.keywords}


def finished_sentences(path: Path) -> list[str]:
    """The f-strings of a module that no page can translate any more."""
    return [f"{node.lineno}: {text}" for node, text in _sentences(path) if isinstance(node, ast.JoinedStr)]


def _sentences(path: Path) -> Iterator[tuple[ast.expr, str]]:
    """The strings of a module that a page may show."""
    *packages, _ = path.relative_to(PACKAGE).parts
    if not NO_PAGES.isdisjoint(packages) or packages in ([], ["instance"]) or API_ONLY.fullmatch(path.name):
        return
    rule = re.compile(".+") if path == WORDS else PHRASE if PHRASES.fullmatch(path.name) else None
    for node, text in literals(path):
        if SENTENCE.fullmatch(text) or (rule is not None and rule.fullmatch(text) and not NO_TEXT.fullmatch(text)):
            yield node, text


@cache
def literals(path: Path) -> list[tuple[ast.expr, str]]:
    """The strings of a module, but for docstrings; for a value of an f-string stands `VALUE`."""
    passed = {id(node) for place in nodes_of(path) for node in _for_programs(place)}
    found: list[tuple[ast.expr, str]] = []
    for node in nodes_of(path):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in ast.walk(node))
            parts = (str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
            found.append((node, "".join(parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node, node.value))
    return found


def _for_programs(node: ast.AST) -> list[ast.AST | None]:
    """What of this node is a docstring, a type, a description or an example in the API's document, or on an error's page."""
    if isinstance(node, ast.Expr):
        return [node.value]
    if isinstance(node, ast.Assign):
        return [node.value for name in node.targets if isinstance(name, ast.Name) and name.id == "solution"]
    if isinstance(node, ast.arg | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else node.returns]
    if isinstance(node, ast.Call):
        described: list[ast.AST | None] = [keyword.value for keyword in node.keywords if keyword.arg == "description"]
        return described + (node.args[:1] if isinstance(node.func, ast.Name) and node.func.id in {"cast", "example"} else [])
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "description"]
    return []


if __name__ == "__main__":
    for one in TRANSLATED:
        write(one, pairs(Path(sys.argv[1])) if len(sys.argv) > 1 else None)
        gaps = [_line(text) for text in missing(one)]
        print(f"{one}: {len(gaps)} missing", *gaps, sep="\n  ")  # noqa: T201 - it is a command
