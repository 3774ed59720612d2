"""Reading the XML of statements: no document type, and limits of size and text."""

from collections.abc import Iterator

from lxml import etree

from tollhouse.kernel.text import Text, Translatable
from tollhouse.platform.xml import Element, parse_xml

DOCUMENT_BYTES_MAX = 32 * 1024 * 1024
TEXT_CHARS_MAX = 500


class UnreadableStatementError(ValueError):
    """The file is not a valid statement; the text says why. Nothing was imported."""

    def __init__(self, message: Translatable) -> None:
        super().__init__(message)
        self.message = message


class Node:
    """An element, with its descendants by paths of plain names: `Refs/EndToEndId`. All names are of one namespace."""

    __slots__ = ("_element", "_space")

    def __init__(self, element: Element, space: str) -> None:
        self._element = element
        self._space = space

    def all(self, path: str) -> Iterator["Node"]:
        """Every element at this path, in order."""
        steps = "/".join(f"{{{self._space}}}{name}" for name in path.split("/"))
        for element in self._element.findall(steps):
            yield Node(element, self._space)

    def one(self, path: str) -> "Node | None":
        """The first element at this path."""
        return next(self.all(path), None)

    def text(self, *paths: str) -> str | None:
        """The text at the first of these paths that has one: printable, on one line, cut at the limit of the standard."""
        for path in paths:
            found = self.one(path)
            words = found.own_text() if found is not None else ""
            if words:
                return words
        return None

    def own_text(self) -> str:
        """The text of the element itself, cleaned the same way."""
        shown = "".join(char if char.isprintable() else " " for char in self._element.text or "")
        return " ".join(shown.split())[:TEXT_CHARS_MAX]

    def attribute(self, name: str) -> str | None:
        """An attribute."""
        value = self._element.get(name)
        return None if value is None else str(value)


def parse(raw: bytes) -> tuple[str, Node]:
    """The namespace of the document and its root. Raises `UnreadableStatementError`."""
    if len(raw) > DOCUMENT_BYTES_MAX:
        raise UnreadableStatementError(
            Text("The file is larger than %(size)s MiB.", size=DOCUMENT_BYTES_MAX // 1024 // 1024)
        )
    try:
        root = parse_xml(raw)
    except etree.XMLSyntaxError as error:
        raise UnreadableStatementError(Text("The file is not well-formed XML: %(msg)s.", msg=error.msg)) from None
    except ValueError:  # the declared encoding does not match
        raise UnreadableStatementError("The file is not well-formed XML.") from None
    if root.getroottree().docinfo.internalDTD is not None:  # pyright: ignore[reportUnnecessaryComparison] - mostly it is
        raise UnreadableStatementError("The file has a document type declaration, which is not allowed.")
    space = etree.QName(root).namespace or ""
    return space, Node(root, space)
