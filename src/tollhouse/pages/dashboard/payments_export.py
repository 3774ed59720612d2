"""Export of payments: a page with the number of payments, and the CSV file, which is streamed."""

from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.csv_table import download, file_name, lines
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.limits import COUNTED_ROWS_MAX
from tollhouse.payments.links.choices import method_labels, project_choices
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


@OPERATIONS.add("GET", "/{mode}/payments/export", guard=signed_in_page)
async def export(request: Request, caller: Person, mode: str, query: PaymentsQuery) -> Response:
    """Show how many payments match, and the download link."""
    env, db = caller.env(mode), await request.services.reports_db()
    path = f"/{env.mode}/payments"
    try:
        filters = query.to_filter(caller.zone, request.services.catalogue.currencies)
    except ValidationFailed:
        return see_other(path + query.address(None))
    return page(
        request,
        "dashboard/payments/export.html",
        person=caller,
        mode=env.mode,
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


@OPERATIONS.add("GET", "/{mode}/payments.csv", guard=signed_in_page)
async def payments_csv(request: Request, caller: Person, mode: str, query: PaymentsQuery) -> Response:
    """Stream every matching payment as CSV, newest first. Payments that start during the download are not included."""
    env = caller.env(mode)
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
        yield lines(_cells(one, env, catalogue) for one in part)


def _cells(one: PaymentRow, env: MerchantEnv, catalogue: Catalogue) -> tuple[str, ...]:
    minors = (one.amount_minor, one.received_minor, one.fee_minor, one.credited_minor - one.fee_minor, one.refunded_minor)
    return (
        str(one.id),
        stamp(one.created_at),
        one.status,
        one.currency,
        *(catalogue.format_amount(minor, one.currency) for minor in minors),
        one.method_id,
        str(one.payment_link_id),
        one.display_name,
        one.external_id or "",
        one.customer_email or "",
        str(one.project_id),
        one.failure_code or "",
        one.refund_required_reason or "",
        "true" if one.late else "false",
        "" if one.succeeded_at is None else stamp(one.succeeded_at),
        stamp(one.updated_at),
        env.mode,
        one.receipt_number or "",
        catalogue.format_amount(one.tax_minor, one.link_currency) if one.tax_minor else "",
        one.link_currency if one.tax_minor else "",
    )
