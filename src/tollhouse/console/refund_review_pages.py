"""The operators' pages about refunds to another account than the one that paid: what waits for review, and the decision."""

from collections.abc import Awaitable, Callable
from typing import Literal, get_args
from uuid import UUID

from starlette.responses import Response

from tollhouse.approvals.model import OperatorContext, Reviewer
from tollhouse.catalogue.currencies import format_amount
from tollhouse.console import reviews
from tollhouse.console import store as operator_store
from tollhouse.console.model import NothingThereError, OperatorAction, OperatorRefusedError
from tollhouse.console.pages_shared import DoneQuery, reason_in, show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Services
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.outgoing import store as outgoing_store
from tollhouse.refunds import review_store as refund_review_store
from tollhouse.refunds import store as refund_store

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
ReviewFilter = Literal["required", "approved", "rejected"]
REVIEWS: tuple[ReviewFilter, ...] = get_args(ReviewFilter)
Decide = Callable[[Services, reviews.Kind, UUID, OperatorContext, int], Awaitable[OperatorAction]]


class RefundsQuery(PageQuery, frozen=True):
    """Which refunds: those that wait for review, unless something else is asked for."""

    review: ReviewFilter = "required"


@OPERATIONS.add("GET", "/operator/refunds", guard=operator_page)
async def refunds(request: Request, caller: Operator, query: RefundsQuery) -> Response:
    """Refunds of all merchants to another account than the one that paid, those that wait longest first."""
    found = await refund_review_store.list_queue(request.services.db, query.review, query.fetch, query.offset)
    shown, more = query.cut(found)
    turned = turn(query, more=more)
    return show(request, caller, "refunds", here="refunds", refunds=shown, query=query, reviews=REVIEWS, turn=turned)


@OPERATIONS.add("GET", "/operator/refunds/{refund_id}", guard=operator_page)
async def refund(request: Request, caller: Operator, refund_id: UUID, query: DoneQuery) -> Response:
    """One refund: who wants how much sent where, to be approved or rejected."""
    return await _refund(request, caller, refund_id, done=query.action)


@OPERATIONS.add("POST", "/operator/refunds/{refund_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, refund_id: UUID) -> Response:
    """Let the money leave, or be the first of two to say so."""
    remark, fault = reason_in(request, "remark")
    if fault and remark:
        return await _refund(request, caller, refund_id, status=422, remark=remark, field_errors={"remark": fault})
    return await _decide(request, caller, refund_id, reviews.approve, remark or None)


@OPERATIONS.add("POST", "/operator/refunds/{refund_id}/reject", guard=operator_page)
async def reject(request: Request, caller: Operator, refund_id: UUID) -> Response:
    """Give the money back to the merchant, who sees the reason."""
    reason, fault = reason_in(request)
    if fault:
        return await _refund(request, caller, refund_id, status=422, reason=reason, field_errors={"reason": fault})
    return await _decide(request, caller, refund_id, reviews.reject, reason)


async def _decide(request: Request, caller: Operator, refund_id: UUID, decide: Decide, reason: str | None) -> Response:
    seen = request.form().one("seen") or ""
    if not (seen.isascii() and seen.isdigit()):
        raise InvalidRequest("The form does not say which state of the refund was seen.")
    try:
        action = await decide(
            request.services, reviews.REFUNDS, refund_id, OperatorContext(caller.email, request.now, reason), int(seen)
        )
    except NothingThereError:
        raise NotFound from None
    except OperatorRefusedError as refused:
        return await _refund(request, caller, refund_id, status=409, message=f"Nothing was done. {refused}")
    return see_other(f"/operator/refunds/{refund_id}?action={action.action_id}")


async def _refund(
    request: Request,
    caller: Operator,
    refund_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    remark: str = "",
    reason: str = "",
    field_errors: dict[str, str] | None = None,
) -> Response:
    db = request.services.db
    whose = await refund_store.find_by_id(db, refund_id)
    if whose is None:
        raise NotFound
    env, _ = whose
    found, transfer = await refund_store.get(db, env, refund_id), await outgoing_store.get(db, refund_id)
    merchant = await operator_store.merchant(db, env.merchant_id)
    if found is None or transfer is None or merchant is None:
        raise NotFound
    return show(
        request,
        caller,
        "refund",
        status,
        here="refunds",
        refund=found,
        transfer=transfer,
        merchant=merchant,
        amount=format_amount,
        history=await operator_store.actions_about(db, env.merchant_id, refund_id, ACTIONS_SHOWN),
        approved_by_me=Reviewer(caller.email).is_among(transfer.approvals.given),
        done=done,
        message=message,
        remark=remark,
        reason=reason,
        field_errors=field_errors or {},
    )
