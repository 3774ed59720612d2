"""`tollhouse operator withdrawals` and `refunds`: the review queues."""

from typing import Annotated, Literal
from uuid import UUID

from cyclopts import App, Parameter

from tollhouse.instance.cli.actions import By, OptionalReason, Reason, print_action, print_rows, run_as
from tollhouse.instance.cli.options import Json
from tollhouse.pages.console import reviews
from tollhouse.payments.refunds import review_store as refund_review_store
from tollhouse.transfers.withdrawals.model import WithdrawalStatus
from tollhouse.transfers.withdrawals.review_store import list_queue

ROWS_MAX = 1_000
withdrawals = App(name="withdrawals", help="List, approve and reject withdrawals.")
refunds = App(name="refunds", help="List, approve and reject refunds to an account other than the payer's.")

Status = Annotated[WithdrawalStatus, Parameter(help="Only withdrawals with this status.")]
Review = Annotated[Literal["required", "approved", "rejected"], Parameter(help="Only refunds with this review status.")]
WithdrawalArgument = Annotated[UUID, Parameter(help="The withdrawal's ID.")]
RefundArgument = Annotated[UUID, Parameter(help="The refund's ID.")]


@withdrawals.command(name="list")
def list_withdrawals(*, status: Status = "pending_review", as_json: Json = False) -> int:
    """List withdrawals pending review, or with another status, oldest first."""
    return print_rows(
        "withdrawals", lambda services: list_queue(services.db, status, ROWS_MAX, services.catalogue), as_json=as_json
    )


@withdrawals.command(name="approve")
def approve_withdrawal(
    withdrawal_id: WithdrawalArgument, /, *, reason: OptionalReason = None, by: By = None, as_json: Json = False
) -> int:
    """Approve a withdrawal, which releases the money. What needs two operators is approved on their pages."""
    return _approve(reviews.WITHDRAWALS, withdrawal_id, reason, by, as_json=as_json)


@withdrawals.command(name="reject")
def reject_withdrawal(withdrawal_id: WithdrawalArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Reject a withdrawal that was not sent yet. Its merchant sees the reason and gets the money back."""
    return _reject(reviews.WITHDRAWALS, withdrawal_id, reason, by, as_json=as_json)


@refunds.command(name="list")
def list_refunds(*, review: Review = "required", as_json: Json = False) -> int:
    """List refunds that require review, or with another review status, oldest first."""
    return print_rows(
        "refunds",
        lambda services: refund_review_store.list_queue(services.db, review, ROWS_MAX, services.catalogue),
        as_json=as_json,
    )


@refunds.command(name="approve")
def approve_refund(
    refund_id: RefundArgument, /, *, reason: OptionalReason = None, by: By = None, as_json: Json = False
) -> int:
    """Approve a refund to an account other than the payer's. What needs two operators is approved on their pages."""
    return _approve(reviews.REFUNDS, refund_id, reason, by, as_json=as_json)


@refunds.command(name="reject")
def reject_refund(refund_id: RefundArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Reject a refund that was not sent yet. Its merchant sees the reason and gets the money back."""
    return _reject(reviews.REFUNDS, refund_id, reason, by, as_json=as_json)


def _approve(kind: reviews.Kind, subject_id: UUID, reason: str | None, by: str | None, *, as_json: bool) -> int:
    done = run_as(lambda services, context: reviews.approve(services, kind, subject_id, context), reason, by)
    return print_action(done, as_json=as_json)


def _reject(kind: reviews.Kind, subject_id: UUID, reason: str, by: str | None, *, as_json: bool) -> int:
    done = run_as(lambda services, context: reviews.reject(services, kind, subject_id, context), reason, by)
    return print_action(done, as_json=as_json)
