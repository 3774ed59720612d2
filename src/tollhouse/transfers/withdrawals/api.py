"""Withdrawals in the Integration API."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import CataloguePageRequest, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate.errors import RECIPIENT_ERRORS, DailyLimitExceeded, WithdrawalMethodUnavailable
from tollhouse.transfers.orders.errors import (
    AmountAboveMaximum,
    AmountBelowFees,
    AmountBelowMinimum,
    DuplicateExternalId,
    InvalidState,
)
from tollhouse.transfers.orders.quotes import QUOTE_ERRORS
from tollhouse.transfers.withdrawals import actions, methods, store
from tollhouse.transfers.withdrawals.errors import InvalidReceiver
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal, NewWithdrawalQuote
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery
from tollhouse.transfers.withdrawals.views import (
    WithdrawalMethodView,
    WithdrawalQuoteView,
    WithdrawalView,
    method_view,
    withdrawal_quote_view,
    withdrawal_view,
)

OPERATIONS = Operations(INTEGRATION)
AMOUNT_ERRORS = (AmountBelowMinimum, AmountAboveMaximum, AmountBelowFees)


class WithdrawalMethodList(Struct, frozen=True):
    """A page of methods."""

    withdrawal_methods: list[WithdrawalMethodView]
    has_more: bool
    next_cursor: str | None


class WithdrawalList(Struct, frozen=True):
    """A page of withdrawals."""

    withdrawals: list[WithdrawalView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/withdrawal-methods", guard=scope("withdrawals:read"))
async def list_withdrawal_methods(caller: Caller, page: CataloguePageRequest, services: Services) -> WithdrawalMethodList:
    """List withdrawal methods. Unavailable ones have a reason."""
    found, more, cursor = page.pick(
        methods.list_methods(caller.env.mode, services.catalogue), lambda method: method.method_id
    )
    return WithdrawalMethodList(
        [method_view(method, caller.env, services.rails, services.catalogue) for method in found], more, cursor
    )


@OPERATIONS.add(
    "POST",
    "/withdrawal-quotes",
    guard=scope("withdrawals:read"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, WithdrawalMethodUnavailable, *AMOUNT_ERRORS),
)
async def quote_withdrawal(caller: Caller, body: NewWithdrawalQuote, work: Work) -> WithdrawalQuoteView:
    """Create a withdrawal quote. Its costs are guaranteed for one minute. No money is reserved."""
    services = work.services
    return withdrawal_quote_view(await actions.quote(work, caller.env, body), services.rails, services.catalogue)


@OPERATIONS.add(
    "POST",
    "/withdrawals",
    guard=scope("withdrawals:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        *QUOTE_ERRORS,
        DuplicateExternalId,
        WithdrawalMethodUnavailable,
        InvalidReceiver,
        *RECIPIENT_ERRORS,
        *AMOUNT_ERRORS,
        DailyLimitExceeded,
        InsufficientFunds,
    ),
)
async def request_withdrawal(caller: Caller, body: NewWithdrawal, work: Work) -> WithdrawalView:
    """Create a withdrawal. The amount is reserved at once. In live mode an operator reviews it."""
    return withdrawal_view(await actions.request(work, caller.env, body), work.services.catalogue)


@OPERATIONS.add("GET", "/withdrawals", guard=scope("withdrawals:read"))
async def list_withdrawals(
    caller: Caller, query: WithdrawalsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> WithdrawalList:
    """List withdrawals. Newest first."""
    found, more, cursor = page.cut(await store.list_withdrawals(db, caller.env, query, page.window))
    return WithdrawalList([withdrawal_view(one, catalogue) for one in found], more, cursor)


@OPERATIONS.add("GET", "/withdrawals/{withdrawal_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_withdrawal(caller: Caller, withdrawal_id: UUID, db: Pool, catalogue: Catalogue) -> WithdrawalView:
    """Retrieve a withdrawal."""
    return withdrawal_view(await store.get(db, caller.env, withdrawal_id), catalogue)


@OPERATIONS.add(
    "POST",
    "/withdrawals/{withdrawal_id}/cancel",
    guard=scope("withdrawals:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState),
)
async def cancel_withdrawal(caller: Caller, withdrawal_id: UUID, work: Work) -> WithdrawalView:
    """Cancel a withdrawal. Possible until it is sent. The amount becomes available again."""
    return withdrawal_view(await actions.cancel(work, caller.env, withdrawal_id), work.services.catalogue)
