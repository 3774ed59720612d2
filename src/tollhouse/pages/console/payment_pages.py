"""The operators' page that finds payments of all merchants, to answer customers and merchants."""

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.bank_codes import creditor_references, parse_iban
from tollhouse.kernel.ids import parse_id
from tollhouse.pages.console import payments_store
from tollhouse.pages.console.layout import render

OPERATIONS = Operations(PAGES)


class PaymentSearchQuery(PageQuery, frozen=True):
    """`search`: an ID, a reference, an account, or the beginning of a name, email address or external ID."""

    search: Annotated[str, Meta(max_length=254)] = ""


@OPERATIONS.add("GET", "/operator/payments", guard=operator_page)
async def payments(request: Request, caller: Operator, query: PaymentSearchQuery) -> Response:
    """Payments of all merchants, newest first."""
    services, text = request.services, query.search.strip()
    if text:
        rails = {method.rail for method in services.catalogue.methods.values()}
        found = await payments_store.search(services.db, services.catalogue, wanted(text), rails, query.fetch, query.offset)
    else:
        found = await payments_store.list_newest(services.db, services.catalogue, query.fetch, query.offset)
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "payments",
        here="payments",
        payments=rows,
        query=query,
        newest=payments_store.NEWEST_SEARCHED,
        page_links=query.links(rows, more=more),
    )


def wanted(text: str) -> payments_store.Wanted:
    """What this text can be."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    references = {text, *creditor_references(text)}
    return payments_store.Wanted(parse_id(text), references, parse_iban(text) or text, f"{escaped}%")
