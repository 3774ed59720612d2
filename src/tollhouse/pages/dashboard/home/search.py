"""The search of the dashboard: by ID it leads to the object, by anything else to a page of what was found."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import asyncpg
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.home import search_store as store
from tollhouse.pages.dashboard.home.search_model import (
    TEXT_CHARS_MAX,
    FoundCustomer,
    FoundObject,
    FoundOrder,
    SearchQuery,
    named_id,
    named_receipt,
    named_short_id,
    named_token,
    typed_amounts,
)
from tollhouse.pages.dashboard.home.search_store import Searched
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.links.views import LinkView, link_view, method_labels
from tollhouse.payments.transactions import payment_list_store
from tollhouse.payments.transactions.payment_list import PaymentRow
from tollhouse.webhooks.request_log import store as request_store
from tollhouse.webhooks.request_log.model import RequestRow, RequestsQuery
from tollhouse.webhooks.request_log.retention import kept_since

OPERATIONS = Operations(PAGES)
SHOWN_MAX = 5
TOO_SLOW = "The search took too long. Search for an ID, an external ID or a complete email address."


class Found(Struct, frozen=True):
    """What a text finds in one environment: at most `SHOWN_MAX` of each kind, and the kinds that have more."""

    payments: Sequence[PaymentRow] = ()
    links: Sequence[LinkView] = ()
    customers: Sequence[FoundCustomer] = ()
    orders: Sequence[FoundOrder] = ()
    requests: Sequence[RequestRow] = ()
    more: frozenset[str] = frozenset()
    is_in_other_mode: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in this environment."""
        return not (self.payments or self.links or self.customers or self.orders or self.requests)


@OPERATIONS.add("GET", "/{mode}/search", guard=signed_in_page("read"))
async def search(request: Request, caller: Person, env: MerchantEnv, query: SearchQuery) -> Response:
    """Find payments, payment links, customers and other objects; an ID redirects to the object's page."""
    text = query.text
    if not text or query.rejection:
        return _page(request, caller, env, query, Found(), query.rejection, 422 if query.rejection else 200)
    requests: list[RequestRow] = []
    found = await _find_object(request, env, text)
    if not found and (named := named_id(text)) is not None:
        of_request = RequestsQuery(request_id=str(named))
        requests = await request_store.list_newest(
            request.services.db, env, of_request, SHOWN_MAX + 1, kept_since(request.services, request.now)
        )
        found = [FoundObject("request", env.mode, logged.id) for logged in requests]
    if len(found) == 1:
        return see_other(found[0].path)
    searched = Searched(env, text, typed_amounts(text, request.services.catalogue.currencies))
    try:
        shown = await _search(request, searched, requests)
    except asyncpg.QueryCanceledError:
        return _page(request, caller, env, query, Found(), TOO_SLOW, 503)
    return _page(request, caller, env, query, shown)


async def _find_object(request: Request, env: MerchantEnv, text: str) -> list[FoundObject]:
    """The merchant's object that the text names by ID, token or URL. Objects of others are not found."""
    db = request.services.db
    token, named = named_token(text), named_id(text)
    if token is not None and (found := await store.find_by_token(db, env.merchant_id, token)):
        return found
    short, receipt = named_short_id(text), named_receipt(text)
    if short is not None:
        return await store.find_by_short_id(db, env.merchant_id, short)
    if receipt is not None:
        return await store.find_receipt(db, env, *receipt)
    if named is None:
        return []
    return await store.find_by_id(db, env.merchant_id, named, kept_since(request.services, request.now))


async def _search(request: Request, searched: Searched, requests: list[RequestRow]) -> Found:
    env, catalogue, base_url = searched.env, request.services.catalogue, request.services.settings.base_url
    fetch = SHOWN_MAX + 1
    async with store.limited_connection(request.services.db) as tx:
        links = await store.search_links(tx, searched)
        ids = await store.search_payments(tx, searched, links, fetch)
        customers = await store.search_customers(tx, searched, fetch)
        orders = await store.search_orders(tx, searched, fetch)
        payments = await payment_list_store.list_by_ids(tx, env, ids[:SHOWN_MAX], request.now)
        other = MerchantEnv(env.merchant_id, "test" if env.livemode else "live")
        is_in_other_mode = await store.is_known_in(tx, Searched(other, searched.text, searched.amounts))
    groups = {"payments": ids, "links": links, "customers": customers, "requests": requests}
    return Found(
        payments,
        [link_view(link, base_url, request.now, catalogue) for link in links[:SHOWN_MAX]],
        customers[:SHOWN_MAX],
        orders[: 2 * SHOWN_MAX],
        requests[:SHOWN_MAX],
        frozenset(name for name, rows in groups.items() if len(rows) > SHOWN_MAX),
        is_in_other_mode,
    )


def _page(
    request: Request,
    person: Person,
    env: MerchantEnv,
    query: SearchQuery,
    found: Found,
    message: Translatable = "",
    status: int = 200,
) -> Response:
    context: dict[str, Any] = {
        "orders": [(order.found.kind, order.found.path, order, stamp(order.created_at)) for order in found.orders],
        "reference": urlencode({"reference": query.text}),
        "other": f"/{'test' if env.livemode else 'live'}/search?{urlencode({'q': query.text})}",
    }
    return render(
        request,
        person,
        "search/results",
        status,
        here="search",
        search_text=query.text[:TEXT_CHARS_MAX],
        found=found,
        message=message,
        names=method_labels(request.services.catalogue),
        amount=request.services.catalogue.format_amount,
        **context,
    )
