"""The operators' review queues of withdrawals and of refunds to an account other than the payer's."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, Reviewer, SubjectNotFoundError
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.schema_fields import describe
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.bank_codes import parse_iban, read_address
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.pages.console import reviews, store
from tollhouse.pages.console.layout import ROOT, ActionQuery, FormState, decide, render
from tollhouse.payments.refunds import store as refund_store
from tollhouse.rails.bank.files.batch import missing_details
from tollhouse.rails.bank.files.transfer import NAME
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate import store as outgoing_store
from tollhouse.transfers.withdrawals.model import WithdrawalStatus
from tollhouse.transfers.withdrawals.store import get_of_any_merchant, list_queue

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
ReviewStatus = Literal["required", "approved", "rejected"]
Decision = Callable[[Work, reviews.Kind, UUID, OperatorContext, int], Awaitable[OperatorAction]]


class WithdrawalQueueQuery(PageQuery, frozen=True):
    """The status of the withdrawals; by default those pending review."""

    status: Literal["pending_review", "approved", "processing", "completed", "failed", "canceled"] = "pending_review"


class RefundsQuery(PageQuery, frozen=True):
    """The review status of the refunds; by default those that require review."""

    review: ReviewStatus = "required"


class ReviewedTransfer(Struct, frozen=True, kw_only=True):
    """A withdrawal or refund in review. `values` are those its own template shows."""

    env: MerchantEnv
    version: int
    approvals: tuple[str, ...]
    approvals_needed: int
    can_approve: bool
    can_reject: bool
    values: dict[str, Any]


class Queue(Struct, frozen=True):
    """A review queue. `name` is its path segment, its entry in the menu and its template."""

    name: str
    kind: reviews.Kind
    load: Callable[[Services, UUID, datetime], Awaitable[ReviewedTransfer | None]]


async def _load_withdrawal(services: Services, withdrawal_id: UUID, now: datetime) -> ReviewedTransfer:
    found = await get_of_any_merchant(services.db, withdrawal_id)
    return ReviewedTransfer(
        env=found.env,
        version=found.version,
        approvals=found.approvals,
        approvals_needed=await _approvals_needed(services, withdrawal_id, found.rail, found.currency, now),
        can_approve=found.status == "pending_review",
        can_reject=found.cancelable,
        values={
            "withdrawal": found,
            "provider_fields": describe(found.provider_fields),
            "missing_details": _missing_details(found.rail, found.receiver, found.provider_fields),
        },
    )


async def _approvals_needed(services: Services, transfer_id: UUID, rail: str, currency: str, now: datetime) -> int:
    """With what else the merchant withdraws, and by the present threshold of the method."""
    method = gate.method_of(rail, currency, services.catalogue)
    above_minor = None if method is None else method.second_operator_above_minor
    return await outgoing_store.approvals_needed(services.db, transfer_id, now, above_minor)


def _missing_details(rail: str, receiver: str, fields: Mapping[str, Any] | None = None) -> str | None:
    """What a bank can reject a transfer to this receiver for, by the provider fields; None if nothing is missing."""
    iban = parse_iban(receiver) if rail == NAME else None
    if iban is None:
        return None
    given = fields or {}
    return missing_details(iban, given.get("bic"), read_address(given.get("address")))


async def _load_refund(services: Services, refund_id: UUID, now: datetime) -> ReviewedTransfer | None:
    db = services.db
    owner = await refund_store.find_by_id(db, refund_id)
    if owner is None:
        return None
    env, _ = owner
    found, transfer = await refund_store.get(db, env, refund_id), await outgoing_store.get(db, refund_id)
    if transfer is None:
        return None
    return ReviewedTransfer(
        env=env,
        version=found.version,
        approvals=transfer.approvals.given,
        approvals_needed=await _approvals_needed(services, refund_id, transfer.rail, transfer.currency, now),
        can_approve=found.status == "pending" and transfer.review == "required",
        can_reject=found.status == "pending" and not transfer.released_at,
        values={
            "refund": found,
            "transfer": transfer,
            "missing_details": _missing_details(transfer.rail, transfer.receiver),
        },
    )


WITHDRAWALS = Queue("withdrawals", reviews.WITHDRAWALS, _load_withdrawal)
REFUNDS = Queue("refunds", reviews.REFUNDS, _load_refund)


@OPERATIONS.add("GET", "/operator/withdrawals", guard=operator_page)
async def withdrawals(request: Request, caller: Operator, query: WithdrawalQueueQuery) -> Response:
    """Withdrawals of all merchants, oldest first."""
    rows, more = query.cut(
        await list_queue(request.services.db, query.status, query.fetch, request.services.catalogue, query.offset)
    )
    return await render(
        request,
        caller,
        "reviews",
        here=WITHDRAWALS.name,
        rows=[(row.withdrawal_id, row) for row in rows],
        filter_name="status",
        selected=query.status,
        statuses=get_args(WithdrawalStatus),
        single_operator=not request.services.settings.two_operators,
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/refunds", guard=operator_page)
async def refunds(request: Request, caller: Operator, query: RefundsQuery) -> Response:
    """Refunds of all merchants to an account other than the payer's, oldest first."""
    rows, more = query.cut(
        await refund_store.list_queue(
            request.services.db, query.review, query.fetch, request.services.catalogue, query.offset
        )
    )
    return await render(
        request,
        caller,
        "reviews",
        here=REFUNDS.name,
        rows=[(row.refund_id, row) for row in rows],
        filter_name="review",
        selected=query.review,
        statuses=get_args(ReviewStatus),
        single_operator=not request.services.settings.two_operators,
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/withdrawals/{withdrawal_id}", guard=operator_page)
async def withdrawal(request: Request, caller: Operator, withdrawal_id: UUID, query: ActionQuery) -> Response:
    """One withdrawal, with the forms that approve and reject it."""
    return await _show(request, caller, WITHDRAWALS, withdrawal_id, query.state)


@OPERATIONS.add("GET", "/operator/refunds/{refund_id}", guard=operator_page)
async def refund(request: Request, caller: Operator, refund_id: UUID, query: ActionQuery) -> Response:
    """One refund, with the forms that approve and reject it."""
    return await _show(request, caller, REFUNDS, refund_id, query.state)


@OPERATIONS.add("POST", "/operator/withdrawals/{withdrawal_id}/approve", guard=operator_page)
async def approve_withdrawal(request: Request, caller: Operator, withdrawal_id: UUID) -> Response:
    """Approve a withdrawal, alone or as the first of two operators."""
    return await _decide(request, caller, WITHDRAWALS, withdrawal_id, reviews.approve_in, "remark")


@OPERATIONS.add("POST", "/operator/refunds/{refund_id}/approve", guard=operator_page)
async def approve_refund(request: Request, caller: Operator, refund_id: UUID) -> Response:
    """Approve a refund, alone or as the first of two operators."""
    return await _decide(request, caller, REFUNDS, refund_id, reviews.approve_in, "remark")


@OPERATIONS.add("POST", "/operator/withdrawals/{withdrawal_id}/reject", guard=operator_page)
async def reject_withdrawal(request: Request, caller: Operator, withdrawal_id: UUID) -> Response:
    """Reject a withdrawal; its merchant gets the money back and sees the reason."""
    return await _decide(request, caller, WITHDRAWALS, withdrawal_id, reviews.reject_in, "reason")


@OPERATIONS.add("POST", "/operator/refunds/{refund_id}/reject", guard=operator_page)
async def reject_refund(request: Request, caller: Operator, refund_id: UUID) -> Response:
    """Reject a refund; its merchant gets the money back and sees the reason."""
    return await _decide(request, caller, REFUNDS, refund_id, reviews.reject_in, "reason")


async def _decide(
    request: Request, caller: Operator, queue: Queue, subject_id: UUID, decision: Decision, reason: str
) -> Response:
    """Decide on the version that the operator saw."""

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        seen = request.form().one("seen") or ""
        if not (seen.isascii() and seen.isdigit()):
            raise InvalidRequest("The form field `seen` must be the version of the withdrawal or refund.")
        try:
            return await decision(work, queue.kind, subject_id, context, int(seen))
        except SubjectNotFoundError:
            raise NotFound from None

    show, to = partial(_show, request, caller, queue, subject_id), f"{ROOT}/{queue.name}/{subject_id}"
    return await decide(request, caller, show, action, to, reason=reason, is_optional=reason == "remark", actor=OPERATOR)


async def _show(request: Request, caller: Operator, queue: Queue, subject_id: UUID, state: FormState) -> Response:
    db = request.services.db
    subject = await queue.load(request.services, subject_id, request.now)
    merchant = None if subject is None else await store.merchant(db, subject.env.merchant_id)
    if subject is None or merchant is None:
        raise NotFound
    return await render(
        request,
        caller,
        queue.kind.name,
        state,
        here=queue.name,
        subject=subject,
        path=f"{ROOT}/{queue.name}/{subject_id}",
        merchant=merchant,
        amount=request.services.catalogue.format_amount,
        history=await store.actions_about(db, subject.env.merchant_id, subject_id, ACTIONS_SHOWN),
        approved_by_me=Reviewer(caller.email).is_among(subject.approvals),
        single_operator=not request.services.settings.two_operators,
        remark="",
        **subject.values,
    )
