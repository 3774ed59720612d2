"""What members and values mean, for the API reference: the docstrings that stand below their declarations.

The first paragraph below a field is its sentence. Lines `value: Meaning.` below a field or a vocabulary (a `Literal`) are
the meanings of its values:

    LinkStatus = Literal["active", "canceled"]
    \"\"\"What can be done with a link.

    active: Customers can pay.
    canceled: Nobody can pay anymore.
    \"\"\"
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import get_origin

import msgspec
from msgspec import Struct

from tollhouse.http.record_views import RECORD, ShownAs
from tollhouse.platform.database.records import is_internal, is_spread, marked

PACKAGE = __name__.partition(".")[0]
VALUES = re.compile(r'^ *"""(?:[^"\n]+\n)+\n((?: *[\w.:-]+: [^\n]+\n)+) *"""$', re.MULTILINE)
"""A docstring that ends with meanings of values."""
VALUE = re.compile(r"^ *([\w.:-]+): (.+)$", re.MULTILINE)
CLASS = r"^class {name}\b.*?(?=^\S|\Z)"


def member_sentences(kind: type[Struct]) -> Mapping[str, str]:
    """The sentence of each member of a type that has one at its field; of a view, also those of its record."""
    record = getattr(kind, RECORD, None)
    found = {} if record is None else dict(_of_record(record))
    own = _of_fields(kind)
    return found | {field.encode_name: own[field.name] for field in msgspec.structs.fields(kind) if field.name in own}


def meanings_of(values: frozenset[str]) -> Mapping[str, str]:
    """The meanings of these values, in the smallest vocabulary that has all of them. Empty if there is none."""
    known = _vocabularies()
    within = min((choices for choices in known if values <= choices), key=len, default=None)
    return {} if within is None else {value: known[within][value] for value in sorted(values)}


@cache
def _vocabularies() -> Mapping[frozenset[str], Mapping[str, str]]:
    """The meanings of the values of each vocabulary. Raises `TypeError` if two have the same values and other meanings."""
    found: dict[frozenset[str], Mapping[str, str]] = {}
    for module in sorted(name for name in sys.modules if name.startswith(f"{PACKAGE}.")):
        source = _source(module)
        for lines in VALUES.findall(source) if "Literal[" in source else ():
            meanings = dict(VALUE.findall(lines))
            if found.setdefault(frozenset(meanings), meanings) != meanings:
                raise TypeError(f"{module}: other meanings of {sorted(meanings)} are declared elsewhere")
    return found


def _of_record(record: type[Struct]) -> Iterator[tuple[str, str]]:
    own = _of_fields(record)
    for field in msgspec.structs.fields(record):
        value_type, marks = marked(field.type)
        if is_internal(marks):
            continue
        if is_spread(value_type, marks):
            yield from _of_record(value_type)
        elif field.name in own:
            shown_as = marks.get(ShownAs)
            yield (shown_as.member if isinstance(shown_as, ShownAs) else field.name), own[field.name]


@cache
def _of_fields(kind: type[Struct]) -> Mapping[str, str]:
    """The sentences below the fields of a class and of the classes that it extends."""
    found: dict[str, str] = {}
    for base in reversed((get_origin(kind) or kind).__mro__):
        if issubclass(base, Struct) and base.__module__.startswith(f"{PACKAGE}."):
            found |= _sentences(base.__module__, base.__qualname__)
    return found


@cache
def _sentences(module: str, name: str) -> Mapping[str, str]:
    """The first paragraphs of the docstrings below the fields of one class, without its bases. Only the class is parsed."""
    found = re.search(CLASS.format(name=name), _source(module), re.MULTILINE | re.DOTALL)
    if found is None:
        return {}
    [definition] = ast.parse(found[0]).body
    sentences: dict[str, str] = {}
    for field, text in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            said = text.value.value if isinstance(text.value, ast.Constant) else ""
            sentences[field.target.id] = " ".join(str(said).partition("\n\n")[0].split())
    return sentences


@lru_cache(maxsize=16)
def _source(module: str) -> str:
    file = getattr(sys.modules[module], "__file__", None)
    return Path(file).read_text("utf-8") if file and file.endswith(".py") else ""
