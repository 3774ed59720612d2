"""The operators' page about the rails of live mode, and the payouts on networks that have not ended."""

from collections.abc import Mapping
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, see_other
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console import store
from tollhouse.pages.console.layout import ActionQuery, read_payout_and_reason, render
from tollhouse.pages.console.rails import list_rails
from tollhouse.rails import refused_payouts_store
from tollhouse.rails.evm import operator_payouts as network_payouts

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/operator/rails", guard=operator_page)
async def rails(request: Request, caller: Operator, query: ActionQuery) -> Response:
    """Each rail with its health, the wallet that pays, and payouts that have not ended."""
    return await _rails(request, caller, done=query.action)


@OPERATIONS.add("POST", "/operator/rails/refuse", guard=operator_page)
async def refuse(request: Request, caller: Operator) -> Response:
    """Let the worker refuse a payout that waits and was never signed."""
    payout_id, reason, field_errors = read_payout_and_reason(request, "payout")
    if field_errors or payout_id is None:
        return await _rails(request, caller, 422, chosen=payout_id, reason=reason, field_errors=field_errors)
    context = OperatorContext(caller.email, request.now, reason)
    try:
        done = await request.transact(lambda work: network_payouts.mark_refused(work, payout_id, context))
    except OperatorRefusedError as refused:
        return await _rails(request, caller, 409, message=refused.notice, reason=reason)
    return see_other(f"/operator/rails?action={done.action_id}")


async def _rails(
    request: Request,
    caller: Operator,
    status: int = 200,
    *,
    done: str = "",
    message: Translatable = "",
    chosen: UUID | None = None,
    reason: str = "",
    field_errors: Mapping[str, Translatable] | None = None,
) -> Response:
    services = request.services
    action = None if (action_id := parse_id(done)) is None else await store.action(services.db, action_id)
    payouts = await network_payouts.list_open(services.db, services.catalogue)
    wanted = {one.payout_id for one in await refused_payouts_store.list_to_refuse(services.db, len(payouts))}
    return await render(
        request,
        caller,
        "rails",
        status,
        here="rails",
        rails=await list_rails(services, request.now),
        payouts=payouts,
        wanted=wanted,
        refusable=[
            (str(one.id), f"{formats_of(request).money(one.amount, one.currency)}, {one.receiver}")
            for one in payouts
            if one.status == "waiting" and one.id not in wanted
        ],
        chosen="" if chosen is None else str(chosen),
        reason=reason,
        field_errors=field_errors or {},
        message=message,
        history=[] if action is None or action.action.action != "payout_to_be_refused" else [action],
        done=done,
    )
