"""The operators' pages about failing deliveries: by merchant, and the events of one. Event content is not shown."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.pages.console import failing_store, store
from tollhouse.pages.console.layout import render

OPERATIONS = Operations(PAGES)
MODES: dict[str, Mode] = {"live": "live", "test": "test"}


@OPERATIONS.add("GET", "/operator/deliveries", guard=operator_page)
async def deliveries(request: Request, caller: Operator, query: PageQuery) -> Response:
    """Merchants with events that failed recently, are retried or held."""
    found = await failing_store.failing(request.services.db, request.now, query.fetch, query.offset)
    rows, more = query.cut(found)
    return await render(
        request, caller, "deliveries", here="deliveries", failing=rows, page_links=query.links(rows, more=more)
    )


@OPERATIONS.add("GET", "/operator/deliveries/{merchant_id}/{mode}", guard=operator_page)
async def failing_events(request: Request, caller: Operator, merchant_id: UUID, mode: str, query: PageQuery) -> Response:
    """The failing events of one merchant and environment."""
    merchant = await store.merchant(request.services.db, merchant_id)
    if merchant is None or mode not in MODES:
        raise NotFound
    env = MerchantEnv(MerchantId(merchant_id), MODES[mode])
    found = await failing_store.failing_of(request.services.db, env, request.now, query.fetch, query.offset)
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "failing",
        here="deliveries",
        merchant=merchant,
        mode=env.mode,
        events=rows,
        page_links=query.links(rows, more=more),
    )
