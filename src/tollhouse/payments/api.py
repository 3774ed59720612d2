"""Payment links and transactions as the Integration API offers them."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import ListQuery, Part
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services
from tollhouse.identity.guards import scope
from tollhouse.identity.model import Caller
from tollhouse.identity.verified import EmailUnverified
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.model import BalanceLimitExceeded
from tollhouse.orders.errors import CurrencyNotSupported, InvalidProject, InvalidState
from tollhouse.payments import actions, settle, store, transactions_store
from tollhouse.payments.errors import LinkNotActive
from tollhouse.payments.model import CreatedBy, LinkStatus, TransactionStatus
from tollhouse.payments.new_link import NewLink
from tollhouse.payments.store import LinkFilter
from tollhouse.payments.transactions_store import TransactionFilter
from tollhouse.payments.views import LinkView, TransactionView, link_view, transaction_view
from tollhouse.platform.db import Pool, Tx

OPERATIONS = Operations(INTEGRATION)


class LinksQuery(ListQuery, frozen=True):
    """Filters of GET /payment-links."""

    status: list[LinkStatus] | None = None
    currency: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


class TransactionsQuery(ListQuery, frozen=True):
    """Filters of GET /transactions."""

    status: list[TransactionStatus] | None = None
    type: Literal["payment"] | None = None
    currency: str | None = None
    payment_link_id: UUID | None = None
    method_id: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


class LinksAnswer(Struct, frozen=True):
    """A page of links."""

    payment_links: list[LinkView]
    has_more: bool
    next_cursor: str | None


class TransactionsAnswer(Struct, frozen=True):
    """A page of transactions."""

    transactions: list[TransactionView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add(
    "POST",
    "/payment-links",
    guard=scope("payments:write"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, CurrencyNotSupported, EmailUnverified, InvalidProject),
)
async def open_link(caller: Caller, body: NewLink, tx: Tx, now: datetime, services: Services) -> LinkView:
    """Create a payment link."""
    created_by = CreatedBy("api_key" if caller.client_id is None else "oauth", caller.client_id)
    link = await actions.open_link(tx, caller.env, body, created_by, services, now)
    return link_view(link, services.settings.base_url, now)


@OPERATIONS.add("GET", "/payment-links", guard=scope("payments:read"))
async def list_links(
    caller: Caller, query: LinksQuery, part: Part, db: Pool, now: datetime, services: Services
) -> LinksAnswer:
    """List payment links, newest first."""
    wanted = msgspec.convert(query, LinkFilter, from_attributes=True)
    links, more, cursor = part.cut(await store.listed(db, caller.env, wanted, now, part.window))
    return LinksAnswer([link_view(link, services.settings.base_url, now) for link in links], more, cursor)


@OPERATIONS.add("GET", "/payment-links/{link_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_link(caller: Caller, link_id: UUID, db: Pool, now: datetime, services: Services) -> LinkView:
    """Read a payment link."""
    link = await store.one(db, caller.env, link_id)
    if link is None:
        raise NotFound
    return link_view(link, services.settings.base_url, now)


@OPERATIONS.add(
    "POST",
    "/payment-links/{link_id}/cancel",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, LinkNotActive),
)
async def cancel_link(caller: Caller, link_id: UUID, tx: Tx, now: datetime, services: Services) -> LinkView:
    """Cancel an active payment link; canceling it again changes nothing."""
    link = await actions.cancel(tx, caller.env, link_id, services, now)
    return link_view(link, services.settings.base_url, now)


@OPERATIONS.add("GET", "/transactions", guard=scope("payments:read"))
async def list_transactions(
    caller: Caller, query: TransactionsQuery, part: Part, db: Pool, now: datetime
) -> TransactionsAnswer:
    """List transactions, newest first."""
    wanted = msgspec.convert(query, TransactionFilter, from_attributes=True)
    found, more, cursor = part.cut(await transactions_store.listed(db, caller.env, wanted, now, part.window))
    return TransactionsAnswer([transaction_view(one, now) for one in found], more, cursor)


@OPERATIONS.add("GET", "/transactions/{transaction_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_transaction(caller: Caller, transaction_id: UUID, db: Pool, now: datetime) -> TransactionView:
    """Read a transaction."""
    transaction = await transactions_store.one(db, caller.env, transaction_id)
    if transaction is None:
        raise NotFound
    return transaction_view(transaction, now)


@OPERATIONS.add(
    "POST",
    "/transactions/{transaction_id}/accept",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState, BalanceLimitExceeded),
)
async def accept(caller: Caller, transaction_id: UUID, tx: Tx, now: datetime, services: Services) -> TransactionView:
    """Accept money that came late, twice, after a cancel, or in another amount than asked."""
    return transaction_view(await settle.accept(tx, caller.env, transaction_id, services, now), now)
