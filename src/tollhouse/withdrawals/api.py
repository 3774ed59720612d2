"""Withdrawals as the Integration API offers them."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import CataloguePart, ListQuery, Part
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services
from tollhouse.identity.guards import scope
from tollhouse.identity.model import Caller
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.model import InsufficientFunds
from tollhouse.orders.errors import (
    AmountAboveMaximum,
    AmountBelowMinimum,
    DuplicateExternalId,
    InvalidState,
    QuoteAlreadyUsed,
    QuoteExpired,
)
from tollhouse.outgoing.errors import DailyLimitExceeded, WithdrawalMethodUnavailable
from tollhouse.platform.db import Pool, Tx
from tollhouse.withdrawals import actions, methods, store
from tollhouse.withdrawals.errors import AmountBelowFees, InvalidReceiver
from tollhouse.withdrawals.model import WithdrawalStatus
from tollhouse.withdrawals.new_withdrawal import NewQuote, NewWithdrawal
from tollhouse.withdrawals.store import WithdrawalFilter
from tollhouse.withdrawals.views import (
    MethodView,
    QuoteView,
    WithdrawalView,
    method_view,
    quote_view,
    withdrawal_view,
)

OPERATIONS = Operations(INTEGRATION)
OF_AMOUNTS = (AmountBelowMinimum, AmountAboveMaximum, AmountBelowFees)


class WithdrawalsQuery(ListQuery, frozen=True):
    """Filters of GET /withdrawals."""

    status: list[WithdrawalStatus] | None = None
    currency: str | None = None
    method_id: str | None = None
    external_id: str | None = None


class MethodsAnswer(Struct, frozen=True):
    """A page of methods."""

    withdrawal_methods: list[MethodView]
    has_more: bool
    next_cursor: str | None


class WithdrawalsAnswer(Struct, frozen=True):
    """A page of withdrawals."""

    withdrawals: list[WithdrawalView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/withdrawal-methods", guard=scope("withdrawals:read"))
async def list_withdrawal_methods(caller: Caller, part: CataloguePart) -> MethodsAnswer:
    """List every withdrawal method, the unavailable ones with the reason."""
    shown, more, cursor = part.pick(methods.listed(caller.env.mode), lambda method: method.method_id)
    return MethodsAnswer([method_view(method, caller.env) for method in shown], more, cursor)


@OPERATIONS.add(
    "POST",
    "/withdrawal-quotes",
    guard=scope("withdrawals:read"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, WithdrawalMethodUnavailable, *OF_AMOUNTS),
)
async def quote_withdrawal(caller: Caller, body: NewQuote, tx: Tx, now: datetime, services: Services) -> QuoteView:
    """Tell what a withdrawal costs, and keep to it for a minute. Nothing is set aside."""
    return quote_view(await actions.quote(tx, caller.env, body, services, now))


@OPERATIONS.add(
    "POST",
    "/withdrawals",
    guard=scope("withdrawals:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        NotFound,
        QuoteExpired,
        QuoteAlreadyUsed,
        DuplicateExternalId,
        WithdrawalMethodUnavailable,
        InvalidReceiver,
        *OF_AMOUNTS,
        DailyLimitExceeded,
        InsufficientFunds,
    ),
)
async def request_withdrawal(
    caller: Caller, body: NewWithdrawal, tx: Tx, now: datetime, services: Services
) -> WithdrawalView:
    """Send money to a receiver. It is set aside at once; in live mode an operator reviews it first."""
    return withdrawal_view(await actions.request(tx, caller.env, body, services, now))


@OPERATIONS.add("GET", "/withdrawals", guard=scope("withdrawals:read"))
async def list_withdrawals(caller: Caller, query: WithdrawalsQuery, part: Part, db: Pool) -> WithdrawalsAnswer:
    """List withdrawals, newest first."""
    wanted = WithdrawalFilter(query.status, query.currency, query.method_id, query.external_id)
    found, more, cursor = part.cut(await store.listed(db, caller.env, wanted, part.window))
    return WithdrawalsAnswer([withdrawal_view(one) for one in found], more, cursor)


@OPERATIONS.add("GET", "/withdrawals/{withdrawal_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_withdrawal(caller: Caller, withdrawal_id: UUID, db: Pool) -> WithdrawalView:
    """Read a withdrawal."""
    found = await store.one(db, caller.env, withdrawal_id)
    if found is None:
        raise NotFound
    return withdrawal_view(found)


@OPERATIONS.add(
    "POST",
    "/withdrawals/{withdrawal_id}/cancel",
    guard=scope("withdrawals:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState),
)
async def cancel_withdrawal(
    caller: Caller, withdrawal_id: UUID, tx: Tx, now: datetime, services: Services
) -> WithdrawalView:
    """Cancel a withdrawal that was not sent yet; the money is available again."""
    return withdrawal_view(await actions.cancel(tx, caller.env, withdrawal_id, services, now))
