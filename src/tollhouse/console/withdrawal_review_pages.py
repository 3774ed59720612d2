"""The operators' pages about withdrawals: what waits for review, and the decision."""

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
from tollhouse.withdrawals import review_store
from tollhouse.withdrawals.model import WithdrawalStatus

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
STATUSES: tuple[str, ...] = get_args(WithdrawalStatus)
Decide = Callable[[Services, reviews.Kind, UUID, OperatorContext, int], Awaitable[OperatorAction]]


class WithdrawalsQuery(PageQuery, frozen=True):
    """Which withdrawals: those that wait for review, unless something else is asked for."""

    status: Literal["pending_review", "approved", "processing", "completed", "failed", "canceled"] = "pending_review"


@OPERATIONS.add("GET", "/operator/withdrawals", guard=operator_page)
async def withdrawals(request: Request, caller: Operator, query: WithdrawalsQuery) -> Response:
    """Withdrawals of all merchants, those that wait longest first."""
    found = await review_store.queue(request.services.db, query.status, query.fetch, query.offset)
    shown, more = query.cut(found)
    return show(
        request,
        caller,
        "withdrawals",
        here="withdrawals",
        withdrawals=shown,
        query=query,
        statuses=STATUSES,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/operator/withdrawals/{withdrawal_id}", guard=operator_page)
async def withdrawal(request: Request, caller: Operator, withdrawal_id: UUID, query: DoneQuery) -> Response:
    """One withdrawal: who wants how much sent where, to be approved or rejected."""
    return await _withdrawal(request, caller, withdrawal_id, done=query.action)


@OPERATIONS.add("POST", "/operator/withdrawals/{withdrawal_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, withdrawal_id: UUID) -> Response:
    """Let the money leave, or be the first of two to say so."""
    remark, fault = reason_in(request, "remark")
    if fault and remark:
        return await _withdrawal(request, caller, withdrawal_id, status=422, remark=remark, field_errors={"remark": fault})
    return await _decide(request, caller, withdrawal_id, reviews.approve, remark or None)


@OPERATIONS.add("POST", "/operator/withdrawals/{withdrawal_id}/reject", guard=operator_page)
async def reject(request: Request, caller: Operator, withdrawal_id: UUID) -> Response:
    """Give the money back; its merchant sees the reason."""
    reason, fault = reason_in(request)
    if fault:
        return await _withdrawal(request, caller, withdrawal_id, status=422, reason=reason, field_errors={"reason": fault})
    return await _decide(request, caller, withdrawal_id, reviews.reject, reason)


async def _decide(request: Request, caller: Operator, withdrawal_id: UUID, decide: Decide, reason: str | None) -> Response:
    seen = request.form().one("seen") or ""
    if not (seen.isascii() and seen.isdigit()):
        raise InvalidRequest("The form does not say which state of the withdrawal was seen.")
    try:
        action = await decide(
            request.services,
            reviews.WITHDRAWALS,
            withdrawal_id,
            OperatorContext(caller.email, request.now, reason),
            int(seen),
        )
    except NothingThereError:
        raise NotFound from None
    except OperatorRefusedError as refused:
        return await _withdrawal(request, caller, withdrawal_id, status=409, message=f"Nothing was done. {refused}")
    return see_other(f"/operator/withdrawals/{withdrawal_id}?action={action.action_id}")


async def _withdrawal(
    request: Request,
    caller: Operator,
    withdrawal_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    remark: str = "",
    reason: str = "",
    field_errors: dict[str, str] | None = None,
) -> Response:
    db = request.services.db
    found = await review_store.one(db, withdrawal_id)
    merchant = None if found is None else await operator_store.merchant(db, found.env.merchant_id)
    if found is None or merchant is None:
        raise NotFound
    return show(
        request,
        caller,
        "withdrawal",
        status,
        here="withdrawals",
        withdrawal=found,
        merchant=merchant,
        amount=format_amount,
        history=await operator_store.actions_about(db, found.env.merchant_id, withdrawal_id, ACTIONS_SHOWN),
        approved_by_me=Reviewer(caller.email).is_among(found.approvals),
        done=done,
        message=message,
        remark=remark,
        reason=reason,
        field_errors=field_errors or {},
    )
