"""CSV files with withdrawals: their template, and reading them."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import BATCH_ITEMS_MAX
from tollhouse.kernel.text import Text
from tollhouse.transfers.withdrawals.batches import NewBatch
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

FIELD = "file"
FILE_BYTES_MAX = 256 * 1024
COLUMNS = ("method_id", "amount", "recipient_id", "receiver", "external_id", "description")
"""Other columns are provider fields of the method."""
PROVIDER_COLUMNS = ("account_holder_name", "reference")
ENCODINGS = ("utf-8-sig", "cp1252")
"""Spreadsheets write one of them."""
NOT_READABLE = (
    "Upload a CSV file whose first row names the columns, at least method_id, amount and receiver or recipient_id."
)


class BatchFile(Struct, frozen=True):
    """The batch that a file describes, and the number of each item's row in the spreadsheet, where empty rows count."""

    new: NewBatch
    rows: list[int]


class RowError(Struct, frozen=True):
    """What is wrong in a row: its row in the spreadsheet, its column, and why."""

    row: int
    column: str
    message: Any


def decode_file(content: bytes) -> str:
    """The text of a file. Raises `ValidationFailed`."""
    if not content or len(content) > FILE_BYTES_MAX or b"\0" in content:
        raise _refused(Text("Upload a CSV file of at most %(size)s KiB.", size=FILE_BYTES_MAX // 1024))
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise _refused(NOT_READABLE)


def read_batch(text: str, catalogue: Catalogue) -> BatchFile:
    """The batch of a file. Raises `ValidationFailed` if it is no such table."""
    lines = text.splitlines()
    separator = ";" if lines and lines[0].count(";") > lines[0].count(",") else ","
    try:
        read = enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=separator), start=1)
        numbered = [(number, row) for number, row in read if any(map(str.strip, row))]
    except csv.Error:
        raise _refused(NOT_READABLE) from None
    rows = [row for _, row in numbered]
    names = [name.strip().lower() for name in rows[0]] if rows else []
    if not {"method_id", "amount"} <= set(names) or not {"receiver", "recipient_id"} & set(names):
        raise _refused(NOT_READABLE)
    if len(set(names)) != len(names) or "" in names:
        raise _refused("Each column must have a name of its own.")
    if not 1 < len(rows) <= BATCH_ITEMS_MAX + 1:
        raise _refused(Text("The file must have 1 to %(most)s withdrawals.", most=BATCH_ITEMS_MAX))
    if any(len(row) > len(names) for row in rows):
        raise _refused("A row has more cells than the first row has names.")
    items = [_item(dict(zip(names, map(str.strip, row), strict=False)), catalogue) for row in rows[1:]]
    return BatchFile(NewBatch(items=items), [number for number, _ in numbered[1:]])


def row_errors(error: ValidationFailed, rows: Sequence[int]) -> list[RowError]:
    """The errors of a batch by row and column of its file, whose items have these rows."""
    found = list[RowError]()
    for one in error.field_errors:
        _, _, place = one.field.partition("items.")
        row, _, member = place.partition(".")
        if row.isdigit():
            found.append(RowError(rows[int(row)], member.removeprefix("provider_fields.") or "", one.message))
    return found


def _item(cells: dict[str, str], catalogue: Catalogue) -> NewWithdrawal:
    method = catalogue.withdrawal_methods.get(cells["method_id"])
    currency = None if method is None else catalogue.currencies[method.currency]
    saved = cells.get("recipient_id", "")
    fields = {name: value for name, value in cells.items() if value and name not in COLUMNS}
    return NewWithdrawal(
        method_id=cells["method_id"],
        amount=read_amount(cells.get("amount", ""), currency),
        receiver=cells.get("receiver") or (None if parse_id(saved) else saved or None),
        recipient_id=parse_id(saved),
        provider_fields=fields,
        external_id=cells.get("external_id") or None,
        description=cells.get("description") or None,
    )


def _refused(message: str | Text) -> ValidationFailed:
    return ValidationFailed(FieldError(FIELD, "invalid_value", message))
