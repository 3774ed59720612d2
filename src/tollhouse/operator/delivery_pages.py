"""The operators' pages about deliveries that fail: whose they are, and how they fail. What events say is not shown."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.refusals import NotFound
from tollhouse.operator import failing_store, store
from tollhouse.operator.desk import show
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)
MODES: dict[str, Mode] = {"live": "live", "test": "test"}


@OPERATIONS.add("GET", "/operator/deliveries", guard=operator_page)
async def deliveries(ask: Ask, caller: Operator, query: PageQuery) -> Response:
    """Merchants whose events have failed of late, are retried or held."""
    found = await failing_store.failing(ask.house.db, ask.now, query.fetch, query.offset)
    shown, more = query.cut(found)
    return show(ask, caller, "deliveries", here="deliveries", failing=shown, turn=turn(query, more=more))


@OPERATIONS.add("GET", "/operator/deliveries/{merchant_id}/{mode}", guard=operator_page)
async def failing_events(ask: Ask, caller: Operator, merchant_id: UUID, mode: str, query: PageQuery) -> Response:
    """Those events of one merchant and environment."""
    merchant = await store.merchant(ask.house.db, merchant_id)
    if merchant is None or mode not in MODES:
        raise NotFound
    env = MerchantEnv(MerchantId(merchant_id), MODES[mode])
    found = await failing_store.failing_of(ask.house.db, env, ask.now, query.fetch, query.offset)
    shown, more = query.cut(found)
    return show(
        ask,
        caller,
        "failing",
        here="deliveries",
        merchant=merchant,
        mode=env.mode,
        events=shown,
        turn=turn(query, more=more),
    )
