"""The Integration API's endpoints for transactions, and for canceling a link, which ends its open attempts."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import ListQuery, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.payments.links.errors import LinkNotActive
from tollhouse.payments.links.views import LinkView, link_view
from tollhouse.payments.transactions import link_closing, settlement, store
from tollhouse.payments.transactions.model import TransactionStatus
from tollhouse.payments.transactions.store import TransactionFilter
from tollhouse.payments.transactions.views import TransactionView, transaction_view
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions.errors import PairUnavailable
from tollhouse.transfers.orders.errors import InvalidState

OPERATIONS = Operations(INTEGRATION)


class TransactionsQuery(ListQuery, frozen=True):
    """Filters of GET /transactions."""

    status: list[TransactionStatus] | None = None
    type: Literal["payment"] | None = None
    currency: str | None = None
    payment_link_id: UUID | None = None
    method_id: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


class TransactionList(Struct, frozen=True):
    """A page of transactions."""

    transactions: list[TransactionView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add(
    "POST",
    "/payment-links/{link_id}/cancel",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, LinkNotActive),
)
async def cancel_link(caller: Caller, link_id: UUID, work: Work) -> LinkView:
    """Cancel a payment link. Canceling it again changes nothing."""
    link = await link_closing.cancel(work, caller.env, link_id)
    return link_view(link, work.services.settings.base_url, work.now, work.services.catalogue)


@OPERATIONS.add("GET", "/transactions", guard=scope("payments:read"))
async def list_transactions(
    caller: Caller, query: TransactionsQuery, page: PageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> TransactionList:
    """List transactions. Newest first."""
    filters = msgspec.convert(query, TransactionFilter, from_attributes=True)
    found, more, cursor = page.cut(await store.list_transactions(db, caller.env, filters, now, page.window))
    return TransactionList([transaction_view(one, now, catalogue) for one in found], more, cursor)


@OPERATIONS.add("GET", "/transactions/{transaction_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_transaction(
    caller: Caller, transaction_id: UUID, db: Pool, now: datetime, catalogue: Catalogue
) -> TransactionView:
    """Retrieve a transaction."""
    transaction = await store.get(db, caller.env, transaction_id)
    if transaction is None:
        raise NotFound
    return transaction_view(transaction, now, catalogue)


@OPERATIONS.add(
    "POST",
    "/transactions/{transaction_id}/accept",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState, BalanceLimitExceeded, PairUnavailable),
)
async def accept(caller: Caller, transaction_id: UUID, work: Work) -> TransactionView:
    """Accept a payment. It can be late, a duplicate, after a cancellation, or of another amount."""
    return transaction_view(await settlement.accept(work, caller.env, transaction_id), work.now, work.services.catalogue)
