"""The styles of an SVG image: the declarations that only draw, for elements by name, class or ID."""

import re
from collections.abc import Iterator, Sequence

PROPERTIES = frozenset({
    "clip-path", "clip-rule", "color", "display", "dominant-baseline", "fill", "fill-opacity", "fill-rule",
    "font-family", "font-size", "font-style", "font-variant", "font-weight", "letter-spacing", "mask", "opacity",
    "paint-order", "shape-rendering", "stop-color", "stop-opacity", "stroke", "stroke-dasharray", "stroke-dashoffset",
    "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width", "text-anchor",
    "text-decoration", "vector-effect", "visibility", "word-spacing",
})  # fmt: skip
FUNCTIONS = frozenset({
    "", "hsl", "hsla", "matrix", "rgb", "rgba", "rotate", "scale", "skewX", "skewY", "translate", "translateX",
    "translateY",
})  # fmt: skip
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
SELECTOR = re.compile(r"[.#]?[A-Za-z_][\w-]{0,99}", re.ASCII)
VALUE = re.compile(r"[\w\s#.,%()+'\"-]*")
REFERENCE = re.compile(r"url\(\s*(['\"]?)#([A-Za-z_][\w.:-]{0,99})\1\s*\)", re.ASCII)
NOT_A_NAME = re.compile(r"[^\w-]")
OPENING, BRACE = re.compile(r"[{;]"), re.compile(r"[{}]")


class Stylesheet:
    """The rules of a stylesheet. At-rules and combined selectors are left out."""

    def __init__(self, text: str) -> None:
        self._rules: dict[str, dict[str, str]] = {}
        """The declarations by selector: a name, a class (`.a`) or an ID (`#a`), in the order of their last rule."""
        for selectors, body in _blocks(COMMENT.sub(" ", text)):
            styles = dict(declarations(body))
            for selector in map(str.strip, selectors.split(",")):
                if SELECTOR.fullmatch(selector):
                    self._rules[selector] = self._rules.pop(selector, {}) | styles
        self._places = {selector: place for place, selector in enumerate(self._rules)}

    def styles_of(self, name: str, classes: Sequence[str], element_id: str) -> dict[str, str]:
        """What the rules declare for an element: of its name, then its classes, then its ID."""
        styles = dict(self._rules.get(name, {}))
        for one in sorted({f".{one}" for one in classes} & self._rules.keys(), key=self._places.__getitem__):
            styles |= self._rules[one]
        return styles | self._rules.get(f"#{element_id}", {})


def declarations(text: str) -> Iterator[tuple[str, str]]:
    """The allowed declarations of a `style` attribute or the body of a rule."""
    for one in COMMENT.sub(" ", text).split(";"):
        name, _, value = one.partition(":")
        name, value = name.strip().lower(), value.replace("!important", "").strip()
        if name in PROPERTIES and value and is_safe(value):
            yield name, value


def is_safe(value: str) -> bool:
    """Whether a value refers to nothing but elements of the same document, and has no function but colors and transforms."""
    rest = REFERENCE.sub(" ", value)
    functions = (NOT_A_NAME.split(before.rstrip())[-1] for before in rest.split("(")[:-1])
    return bool(VALUE.fullmatch(rest)) and all(name in FUNCTIONS for name in functions)


def references(value: str) -> list[str]:
    """The IDs that a value refers to."""
    return [found[2] for found in REFERENCE.finditer(value)]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Selectors and body of each rule that is not in an at-rule."""
    place = 0
    while opening := OPENING.search(text, place):
        before, start = text[place : opening.start()].strip(), opening.end()
        place = start if opening[0] == ";" else _end(text, start)
        if opening[0] == "{" and not before.startswith("@"):
            yield before, text[start : place - 1]


def _end(text: str, place: int) -> int:
    """Where the block that was opened before this place ends."""
    depth = 1
    while depth and (brace := BRACE.search(text, place)):
        depth += 1 if brace[0] == "{" else -1
        place = brace.end()
    return place if not depth else len(text) + 1
