"""Names and texts use the field's words: the ones below must not come back. `docs/glossary.md` lists the terms in use."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.sources import HERE, OF_THE_SOURCE, modules_below, text_of, tree_of

pytestmark = OF_THE_SOURCE
MODULES = [path for part in ("src", "tests", "chaos", "benchmarks") for path in modules_below(HERE / part)]
PAGES = sorted((HERE / "src").glob("tollhouse/**/templates/**/*.html"))
DOCUMENTS = sorted([*HERE.glob("*.md"), *(HERE / "docs").glob("*.md")])
BANNED = "ask asks deed deeds told house houses refusal refusals fault faults clerk seat lent stray patience reseal resealed"
IN_NAMES = frozenset(BANNED.split())
"""Parts of identifiers, such as `reported` in `was_told`. Each has a standard word: see `docs/glossary.md`."""
IN_PROSE = re.compile(
    r"\b(the house|this house|deeds?|refusals?|told|anew|whoever|for ever|sealed|half a minute|of ours|lately)\b",
    re.IGNORECASE,
)
"""Words that nobody says on a page or in a manual of this field."""
READ_WHOLE = ("src/tollhouse",)
"""Folders whose docstrings, comments and SQL are read too, and whose variables are nouns."""
KEPT = frozenset({"deed", "Refusal"})
"""Banned words that integrators or databases know: a column, and the end of the names of errors in the API reference."""
SENT_AWAY = re.compile(r"[rf]*\"\"\"(The same|As) ")
"""A docstring that refers to another one instead of saying what it is about."""
NAMELESS_VARIABLE = re.compile(r"\bfor one in\b")
SPLIT = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
QUOTED = re.compile(r"`[^`]*`|```.*?```", re.DOTALL)


def banned_names(path: Path) -> Iterator[str]:
    """Identifiers of this file with a banned part; a file without one in any word is not taken apart."""
    text = text_of(path)
    if not _banned_parts(text):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and _banned_parts(token.string):
            yield f"{token.start[0]}: {token.string}"


def _banned_parts(words: str) -> set[str]:
    return {part for found in SPLIT.findall(words) if (part := found.lower()) in IN_NAMES}


def banned_words(text: str) -> list[str]:
    """Banned words in a text, code left out."""
    return [found.group() for found in IN_PROSE.finditer(QUOTED.sub("", text))]


def unplain_texts(path: Path) -> Iterator[str]:
    """Banned words in docstrings, comments and SQL of this file, docstrings that send away, and variables without a noun."""
    for token in tokenize.generate_tokens(io.StringIO(text_of(path)).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING}:
            yield from (f"{token.start[0]}: {word}" for word in banned_words(token.string) if word not in KEPT)
            if SENT_AWAY.match(token.string):
                yield f"{token.start[0]}: {token.string.splitlines()[0]}"
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if NAMELESS_VARIABLE.search(line):
            yield f"{number}: for one in"


def test_docstrings_comments_and_sql_are_plain() -> None:
    found = {
        str(path.relative_to(HERE)): list(unplain_texts(path))
        for package in READ_WHOLE
        for path in modules_below(HERE / "src" / "tollhouse" / package)
    }
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_names_are_the_fields() -> None:
    found = {str(path.relative_to(HERE)): list(banned_names(path)) for path in MODULES}
    assert {name: banned for name, banned in found.items() if banned} == {}


def test_texts_are_plain() -> None:
    found = {str(path.relative_to(HERE)): banned_words(path.read_text()) for path in [*PAGES, *DOCUMENTS]}
    assert {name: banned for name, banned in found.items() if banned} == {}


def test_no_two_classes_share_a_name() -> None:
    """A reader who finds a class by its name finds the one."""
    places: dict[str, list[str]] = {}
    for path in modules_below(HERE / "src"):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(HERE)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
