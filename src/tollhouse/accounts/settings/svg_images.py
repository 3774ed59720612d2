"""Sanitizing SVG images: what only draws is copied into a new document, everything else is left out.

Of styles, the declarations that only draw are copied to each element, by its name, class or ID.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from lxml import etree

from tollhouse.platform.xml import Element, parse_xml

SVG = "http://www.w3.org/2000/svg"
HREFS = ("href", "{http://www.w3.org/1999/xlink}href")
SHAPES = frozenset({"path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text"})
TEXTS = frozenset({"text", "tspan"})
GRADIENTS = frozenset({"linearGradient", "radialGradient"})
ELEMENTS = SHAPES | TEXTS | GRADIENTS | {"svg", "g", "defs", "symbol", "switch", "use", "stop", "clipPath", "mask"}
"""No scripts, styles, links, images, animations, filters, patterns or foreign elements."""
ATTRIBUTES = frozenset({
    "clipPathUnits", "cx", "cy", "d", "dx", "dy", "fr", "fx", "fy", "gradientTransform", "gradientUnits",
    "height", "id", "lengthAdjust", "maskContentUnits", "maskUnits", "offset", "pathLength", "points",
    "preserveAspectRatio", "r", "rotate", "rx", "ry", "spreadMethod", "textLength", "transform", "viewBox",
    "width", "x", "x1", "x2", "y", "y1", "y2",
})  # fmt: skip
ID = re.compile(r"[A-Za-z_][\w.:-]{0,99}", re.ASCII)
LENGTH = re.compile(r"\+?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(?:px)?", re.ASCII)
DOCTYPE = re.compile(r"<!DOCTYPE[^<>\[]{0,500}>")
"""A document type without declarations of its own."""
DEPTH_MAX = 60
DRAWN_MAX = 20_000
"""How much may be drawn, directly and by reference: elements, and each 64 characters of their attributes."""
WEIGHT_CHARS = 64
COPIED_CHARS_MAX = 512 * 1024
"""Styles are copied to each element that they apply to."""
CONTENT_BYTES_MAX = 1024 * 1024
"""The constraint of the table too: a copied character can have six bytes."""

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
        for selector in sorted({f".{name}" for name in classes} & self._rules.keys(), key=self._places.__getitem__):
            styles |= self._rules[selector]
        return styles | self._rules.get(f"#{element_id}", {})


def declarations(text: str) -> Iterator[tuple[str, str]]:
    """The allowed declarations of a `style` attribute or the body of a rule."""
    for declaration in COMMENT.sub(" ", text).split(";"):
        name, _, value = declaration.partition(":")
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


class UnreadableSvgError(ValueError):
    """Not a well-formed SVG document, or one that draws nothing, refers to itself or draws too much."""


def sanitize(raw: bytes, box: tuple[int, int]) -> tuple[bytes, int, int]:
    """The sanitized document, and its width and height when it is fitted into a box. Raises `UnreadableSvgError`."""
    source = _parse(raw)
    sheet = Stylesheet("".join(element.text or "" for element in source.iter(f"{{{SVG}}}style")))
    copy = etree.fromstring(f'<svg xmlns="{SVG}"/>')
    _Copier(sheet).copy(source, copy, 0)
    if next(copy.iter(*(f"{{{SVG}}}{name}" for name in SHAPES)), None) is None:
        raise UnreadableSvgError
    _require_bounded(copy)
    width, height = _fit(copy, box)
    content = etree.tostring(copy, encoding="utf-8")
    if len(content) > CONTENT_BYTES_MAX:
        raise UnreadableSvgError
    return content, width, height


def _parse(raw: bytes) -> Element:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableSvgError from None
    text = DOCTYPE.sub("", text, count=1)
    if "<!DOCTYPE" in text or "<!ENTITY" in text or "\0" in text:
        raise UnreadableSvgError
    try:
        root = parse_xml(text.encode(), "utf-8")
    except (etree.XMLSyntaxError, ValueError):
        raise UnreadableSvgError from None
    if root.tag != f"{{{SVG}}}svg":
        raise UnreadableSvgError
    return root


class _Copier:
    """Copies the attributes, texts and elements that are allowed. Raises `UnreadableSvgError` where it becomes too much."""

    def __init__(self, sheet: Stylesheet) -> None:
        self._sheet = sheet
        self._chars_left = COPIED_CHARS_MAX

    def copy(self, source: Element, target: Element, depth: int) -> None:
        """Fill the target, an empty element of the same name."""
        name = etree.QName(source).localname
        for attribute, value in _attributes(source, name, self._sheet):
            self._chars_left -= len(attribute) + len(value)
            target.set(attribute, value)
        if depth > DEPTH_MAX or self._chars_left < 0:
            raise UnreadableSvgError
        if name in TEXTS:
            target.text = source.text
        for child in source:
            if (local := _local_name(child)) in ELEMENTS:
                below = etree.SubElement(target, f"{{{SVG}}}{local}")
                below.tail = child.tail if name in TEXTS else None
                self.copy(child, below, depth + 1)


def _local_name(element: Element) -> str:
    """Empty for an element of another namespace."""
    name = etree.QName(element)
    return name.localname if name.namespace == SVG else ""


def _attributes(source: Element, name: str, sheet: Stylesheet) -> Iterator[tuple[str, str]]:
    """The allowed attributes; the styles that apply are among them, as attributes."""
    kept = {str(key): str(value) for key, value in source.attrib.items()}
    plain = {key: value for key, value in kept.items() if key in PROPERTIES}
    plain |= sheet.styles_of(name, kept.get("class", "").split(), kept.get("id", ""))
    plain |= dict(declarations(kept.get("style", "")))
    for key, value in plain.items():
        if is_safe(value):
            yield key, value
    for key in sorted(ATTRIBUTES & kept.keys()):
        if is_safe(kept[key]) and "url(" not in kept[key] and (key != "id" or ID.fullmatch(kept[key])):
            yield key, kept[key]
    for key in HREFS:
        target = kept.get(key, "")
        if (name == "use" or name in GRADIENTS) and target.startswith("#") and ID.fullmatch(target[1:]):
            yield "href", target
            return


def _require_bounded(root: Element) -> None:
    """Raise `UnreadableSvgError` if the document refers to itself, or draws too much by reference."""
    by_id = {str(element.get("id")): element for element in reversed(list(root.iter())) if element.get("id")}
    known: dict[Element, int] = {}

    def drawn(element: Element, depth: int) -> int:
        if element in known:
            return known[element]
        if depth > DEPTH_MAX:  # also a circle
            raise UnreadableSvgError
        values = [str(value) for value in element.attrib.values()]
        names = [found for value in values for found in references(value)]
        names += [str(element.get("href"))[1:]] if element.get("href") else []
        parts = [*element, *(by_id[name] for name in names if name in by_id)]
        total = 1 + sum(map(len, values)) // WEIGHT_CHARS + sum(drawn(part, depth + 1) for part in parts)
        if total > DRAWN_MAX:
            raise UnreadableSvgError
        known[element] = total
        return total

    drawn(root, 0)


def _fit(root: Element, box: tuple[int, int]) -> tuple[int, int]:
    """Set the size of the image to the largest one within the box, and the view box if it has none."""
    view = (root.get("viewBox") or "").replace(",", " ").split()
    width, height = _length(root.get("width")), _length(root.get("height"))
    if len(view) == 4:  # noqa: PLR2004 - x, y, width and height
        width, height = _length(view[2]), _length(view[3])
    elif width and height:
        root.set("viewBox", f"0 0 {width:f} {height:f}")
    if not width or not height:
        raise UnreadableSvgError
    scale = min(box[0] / width, box[1] / height)
    fitted = max(1, round(width * scale)), max(1, round(height * scale))
    root.set("width", str(fitted[0]))
    root.set("height", str(fitted[1]))
    return fitted


def _length(text: str | None) -> Decimal:
    """A length in pixels; 0 if it is missing, has another unit or is not positive."""
    found = LENGTH.fullmatch((text or "").strip())
    return Decimal(found[1]) if found else Decimal(0)
