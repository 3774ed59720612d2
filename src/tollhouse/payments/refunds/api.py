"""Refunds in the Integration API; a second member's approval in the dashboard API."""

from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.guards import scope, signed_in, spending
from tollhouse.accounts.identity.model import Caller, Person
from tollhouse.accounts.merchants.second_member import NotSecondMember
from tollhouse.accounts.spending.model import ConnectionLimitExceeded
from tollhouse.http.lists import ListPageRequest, ListQuery, PageRequest
from tollhouse.http.operations import DASHBOARD, INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.payments.links.model import MethodUnavailable
from tollhouse.payments.refunds import actions, review, store
from tollhouse.payments.refunds.new_refund import (
    ChargedBack,
    NewRefund,
    ReceiverRequired,
    RefundLimitReached,
    RefundNotAllowed,
)
from tollhouse.payments.refunds.store import RefundFilter
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import RefundStatus
from tollhouse.payments.transactions.views import RefundView, refund_view
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions.model import RateUnavailable
from tollhouse.transfers.gate.model import RECIPIENT_ERRORS, DailyLimitExceeded
from tollhouse.transfers.orders.errors import (
    AmountAboveMaximum,
    AmountBelowFees,
    AmountBelowMinimum,
    InvalidState,
    RefundTooLarge,
)

OPERATIONS = Operations(INTEGRATION)
DASHBOARD_OPERATIONS = Operations(DASHBOARD)


class RefundListQuery(ListQuery, frozen=True):
    """Filters of GET /refunds."""

    transaction_id: UUID | None = None
    status: list[RefundStatus] | None = None
    currency: str | None = None
    external_id: str | None = None


class RefundList(Struct, frozen=True):
    """A page of refunds."""

    refunds: list[RefundView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add(
    "POST",
    "/transactions/{transaction_id}/refunds",
    guard=spending("payments:write"),
    status=201,
    idempotency="required",
    errors=(
        NotFound,
        ValidationFailed,
        ChargedBack,
        RefundLimitReached,
        RefundNotAllowed,
        ReceiverRequired,
        MethodUnavailable,
        RefundTooLarge,
        AmountBelowMinimum,
        AmountBelowFees,
        AmountAboveMaximum,
        ConnectionLimitExceeded,
        DailyLimitExceeded,
        *RECIPIENT_ERRORS,
        RateUnavailable,
        InsufficientFunds,
    ),
)
async def request_refund(caller: Caller, transaction_id: UUID, body: NewRefund, work: Work) -> RefundView:
    """Refund a payment. Refunds all that is left, or a part. By default it goes to the account that paid.

    Another receiver also needs the permission to withdraw, counts against the limits of the withdrawal method, and needs
    an operator's approval.
    """
    refund, _ = await actions.request(work, caller.env, transaction_id, body, by=caller)
    return refund_view(refund, caller.env, work.services.catalogue)


@OPERATIONS.add("GET", "/transactions/{transaction_id}/refunds", guard=scope("payments:read"), errors=(NotFound,))
async def list_refunds_of(
    caller: Caller, transaction_id: UUID, page: ListPageRequest, db: Pool, catalogue: Catalogue
) -> RefundList:
    """List the refunds of a transaction. Newest first."""
    await transaction_store.get(db, caller.env, transaction_id)
    filters = RefundFilter(transaction_id=transaction_id)
    found, more, cursor = page.cut(await store.list_refunds(db, caller.env, filters, page.window))
    return RefundList([refund_view(refund, caller.env, catalogue) for refund in found], more, cursor)


@OPERATIONS.add("GET", "/refunds", guard=scope("payments:read"))
async def list_refunds(
    caller: Caller, query: RefundListQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> RefundList:
    """List refunds. Newest first."""
    filters = msgspec.convert(query, RefundFilter, from_attributes=True)
    found, more, cursor = page.cut(await store.list_refunds(db, caller.env, filters, page.window))
    return RefundList([refund_view(refund, caller.env, catalogue) for refund in found], more, cursor)


@OPERATIONS.add("GET", "/refunds/{refund_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_refund(caller: Caller, refund_id: UUID, db: Pool, catalogue: Catalogue) -> RefundView:
    """Retrieve a refund."""
    refund = await store.get(db, caller.env, refund_id)
    return refund_view(refund, caller.env, catalogue)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/refunds/{refund_id}/approve",
    guard=signed_in("money", of_object=True),
    errors=(NotFound, InvalidState, NotSecondMember),
    recent_authentication="always",
)
async def approve_refund(caller: Person, refund_id: UUID, work: Work) -> RefundView:
    """Approve a refund. As the second member, where it goes to another account than the one that paid."""
    env, refund = await review.approve_as_member(work, caller, refund_id)
    return refund_view(refund, env, work.services.catalogue)
