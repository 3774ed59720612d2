"""Reading the XML of banks piece by piece: no document type, and limits of size, depth, elements and text.

A large file is never in memory as a whole: an element that is asked for is handed over when it ends, and then forgotten.
"""

from collections.abc import Callable, Mapping
from xml.parsers import expat

from tollhouse.kernel.text import Text, Translatable

DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
PIECE_BYTES = 256 * 1024
TEXT_CHARS_MAX = 500
DEPTH_MAX = 64
NODES_MAX = 200_000
"""Elements in memory at a time, such as those of one entry with some thousand transfers."""
RAW_TEXT_CHARS_MAX = 32 * 1024
"""How much of a text is kept until it is cut at `TEXT_CHARS_MAX`: spaces in a row count once then."""
SILENT_BYTES_MAX = 1024 * 1024
"""Bytes in a row that end no tag and no text: those of one tag or comment."""


class UnreadableStatementError(ValueError):
    """The file is not a valid statement; the text says why. Nothing was imported."""

    def __init__(self, message: Translatable) -> None:
        super().__init__(message)
        self.message = message


class Node:
    """An element, with its descendants by paths of plain names: `Refs/EndToEndId`. All names are of one namespace."""

    __slots__ = ("attributes", "chars", "children", "name", "texts")

    def __init__(self, name: str, attributes: Mapping[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: dict[str, list[Node]] = {}
        self.texts: list[str] = []
        self.chars = 0

    def all(self, path: str) -> "list[Node]":
        """Every element at this path, in order."""
        found: list[Node] = [self]
        for name in path.split("/"):
            found = [child for node in found for child in node.children.get(name, ())]
        return found

    def one(self, path: str) -> "Node | None":
        """The first element at this path."""
        found = self.all(path)
        return found[0] if found else None

    def text(self, *paths: str) -> str | None:
        """The text at the first of these paths that has one: printable, on one line, cut at the limit of the standard."""
        for path in paths:
            found = self.one(path)
            words = found.own_text() if found is not None else ""
            if words:
                return words
        return None

    def own_text(self) -> str:
        """The text of the element itself before its first child, cleaned the same way."""
        text = "".join(self.texts)
        if not text.isprintable():
            text = "".join(char if char.isprintable() else " " for char in text)
        return " ".join(text.split())[:TEXT_CHARS_MAX]


Taker = Callable[[Node, list[Node]], None]


class XmlReader:
    """Reads a document from its pieces. All methods raise `UnreadableStatementError`.

    `takers` has the elements that are handed over, by their path below the root. A taker gets the element and those around
    it, from the root on, with what came before. `begin` gets the namespace of the root.
    """

    def __init__(self, begin: Callable[[str], None], takers: Mapping[tuple[str, ...], Taker]) -> None:
        self._begin = begin
        self._takers = {("", *path): take for path, take in takers.items()}
        self._names = {path[-1] for path in takers}
        self._prefix = ""
        self._around: list[Node] = []
        self._before: list[int] = []
        self._nodes = self._bytes = self._silent = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = _refuse_document_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def feed(self, piece: bytes) -> None:
        """Read the next piece."""
        self._bytes += len(piece)
        if self._bytes > DOCUMENT_BYTES_MAX:
            raise too_large()
        self._silent += len(piece)
        self._parse(piece, is_last=False)
        if self._silent > SILENT_BYTES_MAX:
            raise UnreadableStatementError("The file is not well-formed XML.")

    def close(self) -> None:
        """Read the end."""
        self._parse(b"", is_last=True)

    def _parse(self, piece: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(piece, is_last)
        except expat.ExpatError as error:
            message = Text("The file is not well-formed XML: %(msg)s.", msg=expat.ErrorString(error.code))
            raise UnreadableStatementError(message) from None
        except UnreadableStatementError:
            raise
        except (ValueError, LookupError):  # the encoding is unknown, or is not that of the bytes
            raise UnreadableStatementError("The file is not well-formed XML.") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._silent = 0
        if not self._around:
            space, _, _ = name.rpartition(" ")
            self._prefix = f"{space} "
            self._begin(space)
            name = ""
        elif name.startswith(self._prefix):
            name = name[len(self._prefix) :]
        self._before.append(self._nodes)
        self._nodes += 1
        if self._nodes > NODES_MAX or len(self._around) == DEPTH_MAX:
            raise UnreadableStatementError("An entry of the file is too large.")
        self._around.append(Node(name, attributes))

    def _end(self, _: str) -> None:
        self._silent = 0
        node, before, around = self._around.pop(), self._before.pop(), self._around
        if node.name in self._names:
            take = self._takers.get((*(outer.name for outer in around), node.name))
            if take is not None:
                take(node, around)
                self._nodes = before
                return
        if around:
            around[-1].children.setdefault(node.name, []).append(node)

    def _text(self, text: str) -> None:
        self._silent = 0
        node = self._around[-1]
        if not node.children and node.chars < RAW_TEXT_CHARS_MAX:
            node.texts.append(text)
            node.chars += len(text)


def too_large() -> UnreadableStatementError:
    """The error of a file above the limit."""
    return UnreadableStatementError(Text("The file is larger than %(size)s MiB.", size=DOCUMENT_BYTES_MAX // 1024 // 1024))


def _refuse_document_type(*_: object) -> None:
    raise UnreadableStatementError("The file has a document type declaration, which is not allowed.")
