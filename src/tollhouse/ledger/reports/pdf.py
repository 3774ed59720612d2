"""A report as PDF: header, currencies, then each currency with its lines, fees, methods and periods.

The built-in PDF fonts have Western letters only: others lose their accents or become question marks.
"""

from collections.abc import Sequence
from unicodedata import normalize

from fpdf import FPDF

from tollhouse.http.texts import Texts
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.text import Translatable
from tollhouse.ledger.reports import labels
from tollhouse.ledger.reports.model import LINES, MethodSummary, ReportData, Summary
from tollhouse.ledger.reports.selection import ReportHeader
from tollhouse.ledger.reports.tables import by_currency, columns, fees, total_fees, whole

LETTERS = "cp1252"
FONT = "helvetica"
LINE, MARGIN = 6, 14
NAME_WIDTH, NUMBER_WIDTH = 52, 31
"""In millimetres, of the 269 between the margins of a landscape A4 page."""
INK, FAINT, RULE = (19, 26, 38), (82, 93, 115), (200, 206, 216)
Row = Sequence[str]


def render_pdf(header: ReportHeader, found: ReportData, catalogue: Catalogue) -> bytes:
    """Render the file. Slow: run it in a thread."""
    sheet = _ReportPdf(header, catalogue)
    parts = by_currency(found.summaries)
    sums = [whole(rows) for rows in parts.values()]
    sheet.begin(sums)
    for summed in sums:
        methods = [method for method in found.methods if method.currency == summed.currency]
        sheet.currency(catalogue.currencies[summed.currency], summed, parts[summed.currency], methods)
    return bytes(sheet.output())


class _ReportPdf(FPDF):
    """Landscape A4 with page numbers."""

    def __init__(self, header: ReportHeader, catalogue: Catalogue) -> None:
        super().__init__(orientation="landscape", format="A4")
        self._header = header
        self._catalogue = catalogue
        self._texts = Texts(header.language)
        self.core_fonts_encoding = LETTERS
        self.set_margin(MARGIN)
        self.set_auto_page_break(auto=True, margin=MARGIN + LINE)
        self.set_title(self._translate(labels.TITLE))
        self.set_lang(header.language)
        self.set_creation_date(header.made_at)
        self.set_draw_color(*RULE)
        self.add_page()

    def footer(self) -> None:
        """Print business name, days and page number."""
        self.set_y(-MARGIN)
        self._style(8, FAINT)
        header = self._header
        self.cell(
            200, LINE, _printable(f"{header.business_name}, {header.selection.days.first} - {header.selection.days.last}")
        )
        self.cell(0, LINE, f"{self.page_no()} / {{nb}}", align="R")

    def begin(self, sums: Sequence[Summary]) -> None:
        """Print the header and the totals of each currency."""
        header, formats = self._header, self._texts.formats
        self._style(20, INK, bold=True)
        self._line(self._translate(labels.TITLE), 10)
        self._style(12, INK)
        self._line(header.business_name, 7)
        self._style(9, FAINT)
        days = header.selection.days
        self._line(f"{formats.long_day(days.first)} - {formats.long_day(days.last)} ({header.time_zone})")
        self._line(header.project_name or self._translate(labels.ALL_PROJECTS))
        self._line(formats.moment(stamp(header.made_at)))
        if not header.env.livemode:
            self._style(9, INK, bold=True)
            self._line(self._translate(labels.TEST))
        self.ln(LINE)
        if not sums:
            self._style(10, INK)
            self._line(self._translate(labels.NO_ENTRIES))
            return
        rows = [
            [total.currency, *self._amounts(self._catalogue.currencies[total.currency], columns(total))] for total in sums
        ]
        self._table(labels.BY_CURRENCY, (labels.CURRENCY, *labels.COLUMNS), rows)

    def currency(
        self, currency: Currency, summed: Summary, parts: Sequence[Summary], methods: Sequence[MethodSummary]
    ) -> None:
        """Print one currency on its own page."""
        self.add_page()
        self._style(14, INK, bold=True)
        self._line(self._translate(currency.label), 9)
        self._lines(currency, summed)
        self._fees(currency, summed)
        self._method_rows(currency, methods)
        by_day = self._header.selection.group_by == "day"
        rows = [[self._header.period_name(part.period), *self._amounts(currency, columns(part))] for part in parts]
        heads = (labels.DAY if by_day else labels.MONTH, *labels.COLUMNS)
        self._table(labels.BY_DAY if by_day else labels.BY_MONTH, heads, rows)

    def _lines(self, currency: Currency, summed: Summary) -> None:
        opening, closing = self._amounts(currency, (summed.opening_minor, summed.closing_minor))
        rows = [[self._translate(labels.COLUMNS[0]), opening, ""]]
        for line in LINES:
            if summed.lines[line]:
                [amount] = self._amounts(currency, [summed.lines[line]])
                rows.append([self._translate(labels.LINES[line]), amount, self._texts.formats.number(summed.counts[line])])
        rows.append([self._translate(labels.COLUMNS[-1]), closing, ""])
        self._table(labels.BALANCE_CHANGES, ("", labels.AMOUNT, labels.NUMBER), rows)

    def _fees(self, currency: Currency, summed: Summary) -> None:
        total_minor, total_share = total_fees(summed)
        kinds = [(labels.LINES[fee.line], fee.minor, fee.percent) for fee in fees(summed) if fee.minor]
        if not kinds:
            return
        rows: list[Row] = []
        for name, minor, percent in (*kinds, (labels.TOTAL_FEES, total_minor, total_share)):
            rows.append(
                [self._translate(name), *self._amounts(currency, [minor]), f"{self._texts.formats.amount(percent)} %"]
            )
        self._table(labels.FEES, ("", labels.AMOUNT, labels.SHARE), rows)

    def _method_rows(self, currency: Currency, methods: Sequence[MethodSummary]) -> None:
        rows: list[Row] = []
        for method in methods:
            amounts = self._amounts(
                currency, (method.gross_minor, method.fees_minor, method.returned_minor, method.net_minor)
            )
            rows.append(
                [
                    self._translate(self._catalogue.label_of(method.method_id)),
                    self._texts.formats.number(method.payments),
                    *amounts,
                ]
            )
        if rows:
            self._table(labels.BY_METHOD, (labels.METHOD, *labels.METHOD_COLUMNS), rows)

    def _table(self, name: str, heads: Row, rows: Sequence[Row]) -> None:
        """Print a table: names left, amounts right, heads repeated on each page."""
        if self.will_page_break(4 * LINE):
            self.add_page()
        self._style(11, INK, bold=True)
        self._line(self._translate(name), 8)
        self._cells([self._translate(head) for head in heads], bold=True)
        for row in rows:
            if self.will_page_break(LINE):
                self.add_page()
                self._cells([self._translate(head) for head in heads], bold=True)
            self._cells(row)
        self.ln(LINE)

    def _cells(self, row: Row, *, bold: bool = False) -> None:
        self._style(9, INK, bold=bold)
        for place, text in enumerate(row):
            width = NUMBER_WIDTH if place else NAME_WIDTH
            self.cell(width, LINE, _truncated(self, _printable(text), width), border="B", align="R" if place else "L")
        self.ln()

    def _line(self, text: str, height: int = LINE) -> None:
        self.multi_cell(0, height, _printable(text), align="L", new_x="LMARGIN", new_y="NEXT")

    def _style(self, points: int, colour: tuple[int, int, int], *, bold: bool = False) -> None:
        self.set_font(FONT, "B" if bold else "", points)
        self.set_text_color(*colour)

    def _amounts(self, currency: Currency, amounts: Sequence[int]) -> list[str]:
        return [self._texts.formats.amount(currency.format(minor)) for minor in amounts]

    def _translate(self, text: Translatable) -> str:
        return self._texts.translate(text)


def _printable(text: str) -> str:
    """The text in the letters of the font: others without accents, or as question marks."""
    plain = "".join(_letter(letter) for letter in text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-"))
    return plain.encode(LETTERS, "replace").decode(LETTERS)


def _letter(letter: str) -> str:
    if letter.isascii() or letter.encode(LETTERS, "ignore"):
        return letter
    return normalize("NFKD", letter)[:1]


def _truncated(sheet: FPDF, text: str, width: int) -> str:
    """The text, truncated to the width of its cell."""
    room = width - 2 * sheet.c_margin
    if sheet.get_string_width(text) <= room:
        return text
    while text and sheet.get_string_width(f"{text}...") > room:
        text = text[:-1]
    return f"{text}..."
