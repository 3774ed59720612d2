"""Dashboard pages of withdrawal batches: upload a CSV file, review its withdrawals and costs, confirm, details.

The form of the review has the file and an ID, with which the batch is created once, and the costs that were shown.
"""

from collections.abc import Sequence
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
from tollhouse.http.responses import page, see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.limits import BATCH_ITEMS_MAX
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.batch_file import (
    COLUMNS,
    FIELD,
    FILE_BYTES_MAX,
    PROVIDER_COLUMNS,
    RowError,
    decode_file,
    read_batch,
    row_errors,
)
from tollhouse.transfers.withdrawals import batches, batches_store, store
from tollhouse.transfers.withdrawals.batch_views import batch_view
from tollhouse.transfers.withdrawals.batches import BatchRow
from tollhouse.transfers.withdrawals.errors import BatchExists
from tollhouse.transfers.withdrawals.masking import mask
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery

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


@OPERATIONS.add("GET", f"{ROOT}/new", guard=signed_in_page, recent_authentication="live")
async def upload_page(request: Request, caller: Person, mode: str) -> Response:
    """The form that uploads a file."""
    return _upload_form(request, caller, caller.env(mode))


@OPERATIONS.add("GET", f"{ROOT}/template.csv", guard=signed_in_page)
async def template(caller: Person, mode: str) -> Response:
    """A CSV file to fill in."""
    caller.env(mode)
    return Response(
        lines([(*COLUMNS, *PROVIDER_COLUMNS), *EXAMPLES]), 200, attachment("withdrawals.csv"), media_type=MEDIA_TYPE
    )


@OPERATIONS.add("POST", f"{ROOT}/new", guard=signed_in_page, recent_authentication="live", body_bytes_max=UPLOAD_BYTES_MAX)
async def review(request: Request, caller: Person, mode: str) -> Response:
    """The withdrawals of the file and their costs, or the errors of the file."""
    env = caller.env(mode)
    try:
        text = decode_file(request.file(FIELD))
    except ApiError as error:
        return _upload_form(request, caller, env, form_errors_of(error, (FIELD,), FIELD))
    return await _review(request, caller, env, text, new_id())


@OPERATIONS.add(
    "POST", f"{ROOT}/new/confirm", guard=signed_in_page, recent_authentication="live", body_bytes_max=UPLOAD_BYTES_MAX
)
async def confirm(request: Request, caller: Person, mode: str) -> Response:
    """Create the batch. A form that is sent twice creates one."""
    env, posted = caller.env(mode), request.form()
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


@OPERATIONS.add("GET", f"{ROOT}/{{batch_id}}", guard=signed_in_page)
async def details(request: Request, caller: Person, mode: str, batch_id: UUID) -> Response:
    """A batch and its withdrawals."""
    env, db, catalogue = caller.env(mode), request.services.db, request.services.catalogue
    batch = await batches_store.get(db, env, batch_id)
    found = await store.list_withdrawals(db, env, WithdrawalsQuery(batch_id=batch_id), all_rows(BATCH_ITEMS_MAX))
    items = sorted(found, key=lambda one: one.batch_row or 0)
    return page(
        request,
        "dashboard/withdrawals/batch.html",
        person=caller,
        mode=env.mode,
        here="withdrawals",
        batch=batch_view(batch, items, catalogue),
        withdrawals=[(one, catalogue.format_amount(one.amount_minor, one.currency)) for one in items],
    )


async def _exists(request: Request, env: MerchantEnv, batch_id: UUID) -> bool:
    try:
        await batches_store.get(request.services.db, env, batch_id)
    except NotFound:
        return False
    return True


def _upload_form(
    request: Request,
    person: Person,
    env: MerchantEnv,
    form_errors: FormErrors = NO_ERRORS,
    errors_by_row: Sequence[RowError] = (),
) -> Response:
    return page(
        request,
        "dashboard/withdrawals/new_batch.html",
        form_errors.status,
        person=person,
        mode=env.mode,
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
        return _upload_form(request, person, env, form_errors_of(error, (FIELD,)), row_errors(error, numbers))
    except ApiError as error:
        return _upload_form(request, person, env, form_errors_of(error, (FIELD,), FIELD))
    return page(
        request,
        "dashboard/withdrawals/review_batch.html",
        409 if message else 200,
        person=person,
        mode=env.mode,
        here="withdrawals",
        rows=[_cost_row(one, catalogue) for one in rows],
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
    for currency in sorted({one.terms.currency for one in rows}):
        found = [one.terms for one in rows if one.terms.currency == currency]
        debit_minor = sum(one.debit_minor for one in found)
        fees_minor = debit_minor - sum(one.receive_minor for one in found)
        amounts = (sum(one.amount_minor for one in found), fees_minor, debit_minor)
        totals.append(CostTotal(currency, *(catalogue.format_amount(one, currency) for one in amounts)))
    return totals


def _costs(rows: Sequence[BatchRow]) -> str:
    """The costs as they were shown, so that they are confirmed as they are."""
    return " ".join(f"{one.terms.debit_minor}:{one.terms.receive_minor}" for one in rows)
