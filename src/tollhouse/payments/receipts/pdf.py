"""A receipt as a PDF file: one column on A4, with the language, the title and an embedded font."""

import hashlib
import io
import struct
import tempfile
from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from unicodedata import normalize

from fpdf import FPDF, ViewerPreferences

from tollhouse.http.fonts import CACHE, GEIST, keep
from tollhouse.payments.receipts.document import DocumentLine, Pair, ReceiptDocument

WEIGHTS = {"": 400, "B": 600}
"""The weight by the style of fpdf2."""
MAGIC = b"\0\1\0\0"
HEADER_BYTES, ENTRY_BYTES = 12, 16
FAMILY = "geist"
MARGIN, WIDTH, LINE, LABEL_WIDTH, AMOUNT_WIDTH = 22, 166, 6, 48, 60
"""In millimetres."""
INK, FAINT, RULE = (16, 24, 42), (92, 103, 125), (205, 211, 222)
FILES_KEPT = 64
REPLACED = {"\N{NARROW NO-BREAK SPACE}": "\N{NO-BREAK SPACE}"}


@cache
def font_files() -> dict[str, Path]:
    """A file for each style. Slow at the first call."""
    digest = hashlib.sha256(GEIST.read_bytes()).hexdigest()[:12]
    return {style: _file(f"geist-{weight}.{digest}.ttf", weight) for style, weight in WEIGHTS.items()}


def is_complete(font: bytes) -> bool:
    """Whether these bytes begin like a TrueType file and have all of its tables."""
    if not font.startswith(MAGIC) or len(font) < HEADER_BYTES:
        return False
    count = int.from_bytes(font[4:6])
    entries = font[HEADER_BYTES : HEADER_BYTES + count * ENTRY_BYTES]
    if len(entries) < count * ENTRY_BYTES:
        return False
    return all(offset + length <= len(font) for _, _, offset, length in struct.iter_unpack(">4sIII", entries))


def _file(name: str, weight: int) -> Path:
    """The font in the cache; where nothing can be written there, in a folder of this process."""
    file = CACHE / name
    made = keep(file, lambda: _instance(weight), is_complete)
    if not file.is_file():
        file = Path(tempfile.mkdtemp(prefix="tollhouse-fonts-")) / name
        file.write_bytes(made)
    return file


def _instance(weight: int) -> bytes:
    from fontTools.ttLib import TTFont  # noqa: PLC0415 - only where the cache is empty
    from fontTools.varLib import instancer  # noqa: PLC0415 - the same

    with TTFont(GEIST, recalcTimestamp=False) as font:
        instancer.instantiateVariableFont(font, {"wght": weight}, inplace=True)  # pyright: ignore[reportUnknownMemberType]
        made = io.BytesIO()
        font.save(made)
    return made.getvalue()


@lru_cache(FILES_KEPT)
def render_pdf(document: ReceiptDocument) -> bytes:
    """The file. The same document is the same bytes. Slow: run it in a thread."""
    sheet = _ReceiptPdf(document)
    sheet.head()
    sheet.sum()
    sheet.facts()
    sheet.notes()
    return bytes(sheet.output())


class _ReceiptPdf(FPDF):
    """Portrait A4."""

    def __init__(self, document: ReceiptDocument) -> None:
        super().__init__(format="A4")
        self._document = document
        self._is_unprintable = False
        for style, file in font_files().items():
            self.add_font(FAMILY, style, file)
        self._characters: Mapping[int, object] = self.fonts[FAMILY].cmap  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        self.set_margin(MARGIN)
        self.c_margin = 0
        self.set_auto_page_break(auto=True, margin=MARGIN)
        self.set_title(f"{document.title} - {document.seller_name}")
        self.set_author(document.seller_name)
        self.set_lang(document.language)
        self.set_creation_date(datetime.fromisoformat(document.issued_on))
        self.viewer_preferences = ViewerPreferences(display_doc_title=True)
        self.set_draw_color(*RULE)
        self.add_page()

    def head(self) -> None:
        """Print seller, title and number."""
        document = self._document
        self._style(11, INK, bold=True)
        self._paragraph(document.seller_name)
        self.ln(2 * LINE)
        self._style(20, INK, bold=True)
        self._paragraph(document.title, 10)
        self.ln(LINE)

    def sum(self) -> None:
        """Print the amounts."""
        for line in self._document.lines:
            self._line(line)
        self.ln(2 * LINE)

    def facts(self) -> None:
        """Print what was paid when and how, and the seller."""
        document = self._document
        for label, value in (document.number, *document.facts):
            self._fact((label, value))
        self._fact((document.seller_label, "\n".join(document.seller)))
        self.ln(2 * LINE)

    def notes(self) -> None:
        """Print what else is to be known."""
        self._style(9, FAINT)
        for note in self._document.notes:
            self._paragraph(note)
        if self._is_unprintable:
            self._paragraph(self._document.unprintable_note)

    def _line(self, line: DocumentLine) -> None:
        is_included = line.kind == "included"
        if line.kind == "total":
            self._style(11, INK, bold=True)
        else:
            self._style(9 if is_included else 10, FAINT if is_included else INK)
        height = LINE if is_included else LINE + 2
        width = WIDTH - AMOUNT_WIDTH
        label, amount = self._printable(line.label), self._printable(line.amount)
        self._break_before(width, label)
        top = self.get_y()
        if not is_included:
            self.line(MARGIN, top, MARGIN + WIDTH, top)
        self.multi_cell(width, height, label, align="L", new_x="RIGHT", new_y="NEXT")
        below = self.get_y()
        self.set_xy(MARGIN + width, top)
        self.cell(AMOUNT_WIDTH, height, amount, align="R")
        self.set_xy(MARGIN, below)

    def _fact(self, fact: Pair) -> None:
        label, value = (self._printable(text) for text in fact)
        width = WIDTH - LABEL_WIDTH
        self._style(10, INK)
        self._break_before(width, value)
        top = self.get_y()
        self._style(10, FAINT)
        self.cell(LABEL_WIDTH, LINE, label)
        self._style(10, INK)
        self.multi_cell(width, LINE, value, align="L", new_x="LMARGIN", new_y="NEXT")
        self.set_y(max(self.get_y(), top + LINE))

    def _break_before(self, width: int, text: str) -> None:
        """Begin a page if the text does not fit on this one."""
        lines = self.multi_cell(width, LINE, text, align="L", dry_run=True, output="LINES")
        if isinstance(lines, list) and self.will_page_break(len(lines) * (LINE + 2)):
            self.add_page()

    def _paragraph(self, text: str, height: int = LINE) -> None:
        self.multi_cell(0, height, self._printable(text), align="L", new_x="LMARGIN", new_y="NEXT")

    def _style(self, points: int, color: tuple[int, int, int], *, bold: bool = False) -> None:
        self.set_font(FAMILY, "B" if bold else "", points)
        self.set_text_color(*color)

    def _printable(self, text: str) -> str:
        """The text in the characters of the font: others without their accents, or as a question mark."""
        return "".join(self._shown(character) for character in text)

    def _shown(self, character: str) -> str:
        character = REPLACED.get(character, character)
        if character == "\n" or ord(character) in self._characters:
            return character
        plain = "".join(part for part in normalize("NFKD", character) if ord(part) in self._characters)
        self._is_unprintable = self._is_unprintable or not plain
        return plain or "?"
