"""Tables as CSV (RFC 4180): one line at a time, and no cell that a spreadsheet would calculate."""

import csv
import io
import re
from collections.abc import AsyncIterable, Iterable
from datetime import datetime

from starlette.responses import StreamingResponse

MEDIA_TYPE = "text/csv; charset=utf-8; header=present"
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def lines(rows: Iterable[Iterable[str]]) -> str:
    """The rows as text, each ended by CR LF."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for row in rows:
        writer.writerow([escape_formula(cell) for cell in row])
    return text.getvalue()


def escape_formula(cell: str) -> str:
    """The cell; one that would begin a formula and is no plain number gets an apostrophe before it."""
    return f"'{cell}" if cell.startswith(FORMULA) and not NUMBER.fullmatch(cell) else cell


def attachment(name: str) -> dict[str, str]:
    """The headers by which a browser saves an answer under this name, which is plain ASCII of ours."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def file_name(what: str, now: datetime, mode: str = "") -> str:
    """What a table is saved as; without `mode`, one of both environments."""
    return f"{what}{mode and f'-{mode}'}-{now:%Y%m%d-%H%M%S}.csv"


def download(name: str, parts: AsyncIterable[str]) -> StreamingResponse:
    """A file that is sent while it is made. What fails after its first part breaks it off: it does not look whole."""
    return StreamingResponse(parts, 200, attachment(name), media_type=MEDIA_TYPE)
