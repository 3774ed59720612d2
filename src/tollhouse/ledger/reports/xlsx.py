"""A report as XLSX. Amounts are numbers; texts are never formulas."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

from xlsxwriter import Workbook

from tollhouse.http.texts import Texts
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.ledger.reports import labels
from tollhouse.ledger.reports.model import LINES, ReportData, Summary
from tollhouse.ledger.reports.selection import ReportHeader
from tollhouse.ledger.reports.tables import by_currency, columns, whole

DIGITS_MAX = 15
"""Spreadsheets keep this many digits; longer amounts are written as text."""
OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm:ss",
}
NAME_WIDTH, AMOUNT_WIDTH = 24, 16


def render_workbook(header: ReportHeader, found: ReportData, catalogue: Catalogue) -> bytes:
    """Render the file. Slow: run it in a thread."""
    file = BytesIO()
    book: Any = Workbook(file, OPTIONS)  # whose types are half declared
    book.set_properties(
        {"title": Texts(header.language).translate(labels.TITLE), "created": header.made_at.replace(tzinfo=None)}
    )
    writer = _WorkbookWriter(book, header, catalogue)
    parts = by_currency(found.summaries)
    writer.currencies([whole(rows) for rows in parts.values()])
    writer.periods(found.summaries)
    writer.methods(found)
    book.close()
    return file.getvalue()


class _WorkbookWriter:
    """Writes the sheets, each from the first row to the last."""

    def __init__(self, book: Any, header: ReportHeader, catalogue: Catalogue) -> None:
        self._book = book
        self._header = header
        self._catalogue = catalogue
        self._translate = Texts(header.language).translate
        self._bold = book.add_format({"bold": True})
        self._head = book.add_format({"bold": True, "bottom": 1})
        self._head_of_numbers = book.add_format({"bold": True, "bottom": 1, "align": "right"})
        self._amounts: dict[int, Any] = {}

    def currencies(self, sums: Iterable[Summary]) -> None:
        """Write the header and the totals of each currency."""
        header, translate = self._header, self._translate
        sheet = self._sheet(labels.BY_CURRENCY, NAME_WIDTH)
        sheet.write_string(0, 0, f"{translate(labels.TITLE)}: {header.business_name}", self._bold)
        facts = [
            (labels.FROM, f"{header.selection.days.first}, {stamp(header.selection.interval.start)}"),
            (labels.TO, f"{header.selection.days.last}, {stamp(header.selection.interval.end)}"),
            (labels.TIME_ZONE, header.time_zone),
            (labels.PROJECT, header.project_name or translate(labels.ALL_PROJECTS)),
        ]
        if not header.env.livemode:
            facts.append((labels.ENVIRONMENT, translate(labels.TEST)))
        for row, (name, value) in enumerate(facts, 1):
            sheet.write_string(row, 0, translate(name))
            sheet.write_string(row, 1, value)
        first = len(facts) + 2
        self._heads(sheet, first, (labels.CURRENCY,), labels.COLUMNS)
        for row, total in enumerate(sums, first + 1):
            sheet.write_string(row, 0, total.currency)
            self._money(sheet, row, 1, total.currency, columns(total))

    def periods(self, rows: Iterable[Summary]) -> None:
        """Write the lines and counts of each currency and period."""
        names = [labels.LINES[line] for line in LINES]
        by_day = self._header.selection.group_by == "day"
        sheet = self._sheet(labels.BY_DAY if by_day else labels.BY_MONTH, AMOUNT_WIDTH)
        heads = (labels.CURRENCY, labels.DAY if by_day else labels.MONTH)
        opening, closing = labels.COLUMNS[0], labels.COLUMNS[-1]
        number = self._translate(labels.NUMBER)
        counts = [f"{self._translate(name)} ({number})" for name in names]
        self._heads(sheet, 0, heads, (opening, *names, closing, *counts))
        sheet.freeze_panes(1, len(heads))
        for row, total in enumerate(rows, 1):
            sheet.write_string(row, 0, total.currency)
            sheet.write_string(row, 1, self._header.period_name(total.period))
            amounts = (total.opening_minor, *total.lines.values(), total.closing_minor)
            self._money(sheet, row, len(heads), total.currency, amounts)
            for place, count in enumerate(total.counts.values(), len(heads) + len(amounts)):
                sheet.write_number(row, place, count)

    def methods(self, found: ReportData) -> None:
        """Write the methods of each currency."""
        sheet = self._sheet(labels.BY_METHOD, NAME_WIDTH)
        self._heads(sheet, 0, (labels.CURRENCY, labels.METHOD), labels.METHOD_COLUMNS)
        for row, method in enumerate(found.methods, 1):
            sheet.write_string(row, 0, method.currency)
            sheet.write_string(row, 1, self._translate(self._catalogue.label_of(method.method_id)))
            sheet.write_number(row, 2, method.payments)
            self._money(
                sheet,
                row,
                3,
                method.currency,
                (method.gross_minor, method.fees_minor, method.returned_minor, method.net_minor),
            )

    def _sheet(self, name: str, width: int) -> Any:
        sheet: Any = self._book.add_worksheet(self._translate(name))
        sheet.set_column(0, 1, width)
        sheet.set_column(2, 40, AMOUNT_WIDTH)
        return sheet

    def _heads(self, sheet: Any, row: int, names: Sequence[str], numbers: Iterable[str]) -> None:
        for place, name in enumerate(names):
            sheet.write_string(row, place, self._translate(name), self._head)
        for place, name in enumerate(numbers, len(names)):
            sheet.write_string(row, place, self._translate(name), self._head_of_numbers)

    def _money(self, sheet: Any, row: int, first: int, code: str, amounts: Iterable[int]) -> None:
        currency = self._catalogue.currencies[code]
        style = self._amount(currency.decimals)
        for place, minor in enumerate(amounts, first):
            decimal = currency.format(minor)
            if len(str(abs(minor))) > DIGITS_MAX:
                sheet.write_string(row, place, decimal, style)
            else:
                sheet.write_number(row, place, Decimal(decimal), style)

    def _amount(self, decimals: int) -> Any:
        if decimals not in self._amounts:
            written = "#,##0" if decimals == 0 else f"#,##0.{'0' * decimals}"
            self._amounts[decimals] = self._book.add_format({"num_format": written, "align": "right"})
        return self._amounts[decimals]
