"""Export of payments: a page with the number of payments, and the CSV file, which is streamed."""

from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.csv_table import cells, download, file_name, lines
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.limits import COUNTED_ROWS_MAX
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.links.views import method_labels, project_choices
from tollhouse.payments.transactions import payment_list_store
from tollhouse.payments.transactions.payment_list import PaymentListFilter, PaymentRow, PaymentsQuery
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
ROWS_AT_ONCE = 1_000
HEADER = (
    "id",
    "created_at",
    "status",
    "currency",
    "amount",
    "amount_received",
    "fee",
    "net",
    "amount_refunded",
    "method_id",
    "payment_link_id",
    "display_name",
    "external_id",
    "customer_email",
    "project_id",
    "failure_code",
    "refund_required_reason",
    "late",
    "succeeded_at",
    "updated_at",
    "mode",
    "receipt_number",
    "tax",
    "tax_currency",
)


@OPERATIONS.add("GET", "/{mode}/payments/export", guard=signed_in_page("read"))
async def export(request: Request, caller: Person, env: MerchantEnv, query: PaymentsQuery) -> Response:
    """Show how many payments match, and the download link."""
    db = await request.services.reports_db()
    path = f"/{env.mode}/payments"
    try:
        filters = query.to_filter(caller.zone, request.services.catalogue.currencies)
    except ValidationFailed:
        return see_other(path + query.address(None))
    return render(
        request,
        caller,
        "payments/export",
        here="payments",
        count=await payment_list_store.count_payments(db, env, filters, request.now, COUNTED_ROWS_MAX + 1),
        counted_max=COUNTED_ROWS_MAX,
        file=f"/{env.mode}/payments.csv{query.address(None)}",
        name=file_name("payments", request.now, env.mode),
        shown_list=path + query.address(None),
        query=query,
        methods=method_labels(request.services.catalogue),
        projects=dict(await project_choices(db, env)),
        header=HEADER,
    )


@OPERATIONS.add("GET", "/{mode}/payments.csv", guard=signed_in_page("read"))
async def payments_csv(request: Request, caller: Person, env: MerchantEnv, query: PaymentsQuery) -> Response:
    """Stream every matching payment as CSV, newest first. Payments that start during the download are not included."""
    filters = query.to_filter(caller.zone, request.services.catalogue.currencies)
    end = request.now if filters.created_to is None else min(request.now, filters.created_to)
    known = msgspec.structs.replace(filters, created_to=end)
    return download(
        file_name("payments", request.now, env.mode),
        _lines(await request.services.reports_db(), env, known, request.now, request.services.catalogue),
    )


async def _lines(
    db: Pool, env: MerchantEnv, filters: PaymentListFilter, now: datetime, catalogue: Catalogue
) -> AsyncIterator[str]:
    yield lines([HEADER])
    async for part in payment_list_store.iterate_payments(db, env, filters, now, ROWS_AT_ONCE):
        yield lines(_cells(payment, env, catalogue) for payment in part)


def _cells(payment: PaymentRow, env: MerchantEnv, catalogue: Catalogue) -> list[str]:
    def amount(minor: int) -> str:
        return catalogue.format_amount(minor, payment.currency)

    return cells(
        payment,
        HEADER,
        amount=amount(payment.amount_minor),
        amount_received=amount(payment.received_minor),
        fee=amount(payment.fee_minor),
        net=amount(payment.credited_minor - payment.fee_minor),
        amount_refunded=amount(payment.refunded_minor),
        mode=env.mode,
        tax=catalogue.format_amount(payment.tax_minor, payment.link_currency) if payment.tax_minor else "",
        tax_currency=payment.link_currency if payment.tax_minor else "",
    )
