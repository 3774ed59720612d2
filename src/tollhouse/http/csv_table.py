"""Tables as CSV (RFC 4180), line by line, without cells that a spreadsheet would run as formulas."""

import csv
import io
import re
from collections.abc import AsyncIterable, Iterable
from datetime import datetime

from starlette.responses import StreamingResponse

from tollhouse.kernel.clock import stamp

MEDIA_TYPE = "text/csv; charset=utf-8; header=present"
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def lines(rows: Iterable[Iterable[str]]) -> str:
    """The rows as text, each terminated by CR LF."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for row in rows:
        writer.writerow([escape_formula(cell) for cell in row])
    return text.getvalue()


def cells(row: object, header: Iterable[str], **made: object) -> list[str]:
    """The cells of a row under this header: its attributes of these names, but for the values that are `made`."""
    return [_text(made[name] if name in made else getattr(row, name)) for name in header]


def escape_formula(cell: str) -> str:
    """The cell; an apostrophe precedes what would be a formula and is not a plain number."""
    return f"'{cell}" if cell.startswith(FORMULA) and not NUMBER.fullmatch(cell) else cell


def attachment(name: str) -> dict[str, str]:
    """The headers for saving a response under this name, which must be ASCII."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def file_name(what: str, now: datetime, mode: str = "") -> str:
    """The file name of a table; without `mode`, of both environments."""
    return f"{what}{mode and f'-{mode}'}-{now:%Y%m%d-%H%M%S}.csv"


def download(name: str, parts: AsyncIterable[str]) -> StreamingResponse:
    """A file that is streamed. An error after the first part aborts it, so that it does not look complete."""
    return StreamingResponse(parts, 200, attachment(name), media_type=MEDIA_TYPE)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return stamp(value) if isinstance(value, datetime) else "" if value is None else str(value)
