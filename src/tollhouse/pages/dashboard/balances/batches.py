"""Dashboard pages of withdrawals that are created together from a CSV file, and the reading of the file."""

import csv
import io
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.csv_table import MEDIA_TYPE, attachment, lines
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import all_rows
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.limits import BATCH_ITEMS_MAX
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.dashboard.layout import render
from tollhouse.transfers.withdrawals import batches, store
from tollhouse.transfers.withdrawals.batches import BatchRow, NewBatch
from tollhouse.transfers.withdrawals.model import BatchExists, mask
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery
from tollhouse.transfers.withdrawals.views import batch_view

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
    for field_error in error.field_errors:
        _, _, place = field_error.field.partition("items.")
        row, _, member = place.partition(".")
        if row.isdigit():
            found.append(RowError(rows[int(row)], member.removeprefix("provider_fields.") or "", field_error.message))
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


OPERATIONS = Operations(PAGES)
ROOT = "/{mode}/withdrawals/batches"
UPLOAD_BYTES_MAX = 1024 * 1024
"""More than a file may have, so that a larger one gets an error on the page; the review has the file percent-encoded."""
COSTS_CHANGED = "The costs have changed. Review them before you confirm."
EXAMPLES = (
    ("sandbox:EUR", "10.00", "", "Nina", "invoice-17", "", "Nina Bo", "Invoice 17"),
    ("sandbox:EUR", "4.20", "", "Otto", "invoice-18", "", "Otto Ek", "Invoice 18"),
)


class CostRow(Struct, frozen=True):
    """A withdrawal of the review, with its costs as decimal strings."""

    name: str
    account: str
    currency: str
    amount: str
    fees: str
    debit: str
    receive: str


class CostTotal(Struct, frozen=True):
    """The sums of the review in one currency."""

    currency: str
    amount: str
    fees: str
    debit: str


@OPERATIONS.add("GET", f"{ROOT}/new", guard=signed_in_page("money"), recent_authentication="live")
async def upload_page(request: Request, caller: Person, env: MerchantEnv) -> Response:  # noqa: ARG001 - another mode is not found
    """The form that uploads a file."""
    return _upload_form(request, caller)


@OPERATIONS.add("GET", f"{ROOT}/template.csv", guard=signed_in_page("money"))
async def template(env: MerchantEnv) -> Response:  # noqa: ARG001 - another mode is not found
    """A CSV file to fill in."""
    return Response(
        lines([(*COLUMNS, *PROVIDER_COLUMNS), *EXAMPLES]), 200, attachment("withdrawals.csv"), media_type=MEDIA_TYPE
    )


@OPERATIONS.add(
    "POST", f"{ROOT}/new", guard=signed_in_page("money"), recent_authentication="live", body_bytes_max=UPLOAD_BYTES_MAX
)
async def review(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The withdrawals of the file and their costs, or the errors of the file."""
    try:
        text = decode_file(request.file(FIELD))
    except ApiError as error:
        return _upload_form(request, caller, form_errors_of(error, (FIELD,), FIELD))
    return await _review(request, caller, env, text, new_id())


@OPERATIONS.add(
    "POST",
    f"{ROOT}/new/confirm",
    guard=signed_in_page("money"),
    recent_authentication="live",
    body_bytes_max=UPLOAD_BYTES_MAX,
)
async def confirm(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Create the batch. A form that is sent twice creates one."""
    posted = request.form()
    text, batch_id = posted.one("content") or "", parse_id(posted.one("batch_id") or "") or new_id()
    try:
        new = read_batch(text, request.services.catalogue).new
        rows = await request.transact(lambda work: batches.check(work, env, new))
        if posted.one("costs") != _costs(rows):
            return await _review(request, caller, env, text, batch_id, COSTS_CHANGED)
        await request.transact(lambda work: batches.create_batch(work, env, new, batch_id))
    except BatchExists:
        pass
    except ApiError as error:
        # An earlier request may have created the batch: then its external IDs are in use, or its money is spent.
        if not await _exists(request, env, batch_id):
            return await _review(request, caller, env, text, batch_id, error.message)
    return see_other(f"/{env.mode}/withdrawals/batches/{batch_id}")


@OPERATIONS.add("GET", f"{ROOT}/{{batch_id}}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, batch_id: UUID) -> Response:
    """A batch and its withdrawals."""
    db, catalogue = request.services.db, request.services.catalogue
    batch = await store.get_batch(db, env, batch_id)
    found = await store.list_withdrawals(db, env, WithdrawalsQuery(batch_id=batch_id), all_rows(BATCH_ITEMS_MAX))
    items = sorted(found, key=lambda withdrawal: withdrawal.batch_row or 0)
    return render(
        request,
        caller,
        "withdrawals/batch",
        here="withdrawals",
        batch=batch_view(batch, items, catalogue),
        withdrawals=[
            (withdrawal, catalogue.format_amount(withdrawal.amount_minor, withdrawal.currency)) for withdrawal in items
        ],
    )


async def _exists(request: Request, env: MerchantEnv, batch_id: UUID) -> bool:
    try:
        await store.get_batch(request.services.db, env, batch_id)
    except NotFound:
        return False
    return True


def _upload_form(
    request: Request, person: Person, form_errors: FormErrors = NO_ERRORS, errors_by_row: Sequence[RowError] = ()
) -> Response:
    return render(
        request,
        person,
        "withdrawals/new_batch",
        here="withdrawals",
        form_errors=form_errors,
        row_errors=errors_by_row,
        size_kib=FILE_BYTES_MAX // 1024,
        most=BATCH_ITEMS_MAX,
    )


async def _review(
    request: Request, person: Person, env: MerchantEnv, text: str, batch_id: UUID, message: Translatable = ""
) -> Response:
    catalogue = request.services.catalogue
    numbers: Sequence[int] = ()
    try:
        file = read_batch(text, catalogue)
        numbers = file.rows
        rows = await request.transact(lambda work: batches.check(work, env, file.new))
    except ValidationFailed as error:
        return _upload_form(request, person, form_errors_of(error, (FIELD,)), row_errors(error, numbers))
    except ApiError as error:
        return _upload_form(request, person, form_errors_of(error, (FIELD,), FIELD))
    return render(
        request,
        person,
        "withdrawals/review_batch",
        409 if message else 200,
        here="withdrawals",
        rows=[_cost_row(row, catalogue) for row in rows],
        totals=_totals(rows, catalogue),
        values={"content": text, "batch_id": str(batch_id), "costs": _costs(rows)},
        message=message,
    )


def _cost_row(row: BatchRow, catalogue: Catalogue) -> CostRow:
    terms, currency = row.terms, row.terms.currency
    name = row.payee.provider_fields.get("account_holder_name")
    return CostRow(
        name=name if isinstance(name, str) else "",
        account=mask(row.payee.receiver, row.method.receiver_type),
        currency=currency,
        amount=catalogue.format_amount(terms.amount_minor, currency),
        fees=catalogue.format_amount(terms.debit_minor - terms.receive_minor, currency),
        debit=catalogue.format_amount(terms.debit_minor, currency),
        receive=catalogue.format_amount(terms.receive_minor, currency),
    )


def _totals(rows: Sequence[BatchRow], catalogue: Catalogue) -> list[CostTotal]:
    totals = list[CostTotal]()
    for currency in sorted({row.terms.currency for row in rows}):
        found = [row.terms for row in rows if row.terms.currency == currency]
        debit_minor = sum(terms.debit_minor for terms in found)
        fees_minor = debit_minor - sum(terms.receive_minor for terms in found)
        amounts = (sum(terms.amount_minor for terms in found), fees_minor, debit_minor)
        totals.append(CostTotal(currency, *(catalogue.format_amount(amount, currency) for amount in amounts)))
    return totals


def _costs(rows: Sequence[BatchRow]) -> str:
    """The costs as they were shown, so that they are confirmed as they are."""
    return " ".join(f"{row.terms.debit_minor}:{row.terms.receive_minor}" for row in rows)
