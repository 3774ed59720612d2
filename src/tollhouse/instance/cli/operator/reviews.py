"""`tollhouse operator withdrawals` and `refunds`: the review queues."""

from typing import Annotated, Literal
from uuid import UUID

from cyclopts import App, Parameter

from tollhouse.instance.cli.actions import NO_REASON, WithOptionalReason, WithReason, act_with, print_rows
from tollhouse.instance.cli.options import Json
from tollhouse.pages.console import reviews
from tollhouse.payments.refunds import store as refunds_store
from tollhouse.transfers.withdrawals import store as withdrawals_store
from tollhouse.transfers.withdrawals.model import WithdrawalStatus

ROWS_MAX = 1_000
withdrawals = App(name="withdrawals", help="List, approve and reject withdrawals.")
refunds = App(name="refunds", help="List, approve and reject refunds to an account other than the payer's.")

Status = Annotated[WithdrawalStatus, Parameter(help="Only withdrawals with this status.")]
Review = Annotated[Literal["required", "approved", "rejected"], Parameter(help="Only refunds with this review status.")]
WithdrawalArgument = Annotated[UUID, Parameter(help="The withdrawal's ID.")]
RefundArgument = Annotated[UUID, Parameter(help="The refund's ID.")]


@withdrawals.command(name="list")
def list_withdrawals(*, status: Status = "pending_review", as_json: Json = False) -> None:
    """List withdrawals pending review, or with another status, oldest first."""
    print_rows(
        "withdrawals",
        lambda services: withdrawals_store.list_queue(services.db, status, ROWS_MAX, services.catalogue),
        as_json=as_json,
    )


@withdrawals.command(name="approve")
def approve_withdrawal(withdrawal_id: WithdrawalArgument, /, *, options: WithOptionalReason = NO_REASON) -> None:
    """Approve a withdrawal, which releases the money. What needs two operators is approved on their pages."""
    act_with(lambda services, context: reviews.approve(services, reviews.WITHDRAWALS, withdrawal_id, context), options)


@withdrawals.command(name="reject")
def reject_withdrawal(withdrawal_id: WithdrawalArgument, /, *, options: WithReason) -> None:
    """Reject a withdrawal that was not sent yet. Its merchant sees the reason and gets the money back."""
    act_with(lambda services, context: reviews.reject(services, reviews.WITHDRAWALS, withdrawal_id, context), options)


@refunds.command(name="list")
def list_refunds(*, review: Review = "required", as_json: Json = False) -> None:
    """List refunds that require review, or with another review status, oldest first."""
    print_rows(
        "refunds",
        lambda services: refunds_store.list_queue(services.db, review, ROWS_MAX, services.catalogue),
        as_json=as_json,
    )


@refunds.command(name="approve")
def approve_refund(refund_id: RefundArgument, /, *, options: WithOptionalReason = NO_REASON) -> None:
    """Approve a refund to an account other than the payer's. What needs two operators is approved on their pages."""
    act_with(lambda services, context: reviews.approve(services, reviews.REFUNDS, refund_id, context), options)


@refunds.command(name="reject")
def reject_refund(refund_id: RefundArgument, /, *, options: WithReason) -> None:
    """Reject a refund that was not sent yet. Its merchant sees the reason and gets the money back."""
    act_with(lambda services, context: reviews.reject(services, reviews.REFUNDS, refund_id, context), options)
