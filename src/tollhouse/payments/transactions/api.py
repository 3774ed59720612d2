"""Transactions, balances and ledger entries in the Integration API; canceling a link, which ends its open attempts."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import CataloguePageRequest, ListQuery, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound
from tollhouse.ledger.books import store as ledger_store
from tollhouse.ledger.books.model import BalanceLimitExceeded, EntryType, MerchantCode
from tollhouse.ledger.books.store import Balance, EntryFilter
from tollhouse.ledger.books.views import BalanceView, EntryView, balance_view, entry_view
from tollhouse.payments.links.model import LinkNotActive
from tollhouse.payments.links.views import LinkView, link_view
from tollhouse.payments.transactions import link_closing, settlement, store
from tollhouse.payments.transactions.model import TransactionStatus
from tollhouse.payments.transactions.store import TransactionFilter
from tollhouse.payments.transactions.views import TransactionView, transaction_view
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions.model import PairUnavailable
from tollhouse.transfers.orders.errors import InvalidState

OPERATIONS = Operations(INTEGRATION)
BALANCE_OPERATIONS = Operations(INTEGRATION)


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
    return TransactionList([transaction_view(transaction, now, catalogue) for transaction in found], more, cursor)


@OPERATIONS.add("GET", "/transactions/{transaction_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_transaction(
    caller: Caller, transaction_id: UUID, db: Pool, now: datetime, catalogue: Catalogue
) -> TransactionView:
    """Retrieve a transaction."""
    transaction = await store.get(db, caller.env, transaction_id)
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


class EntriesQuery(ListQuery, frozen=True):
    """Filters of GET /ledger."""

    currency: str | None = None
    account: MerchantCode | None = None
    type: EntryType | None = None
    source_type: str | None = None
    source_id: UUID | None = None


class BalanceList(Struct, frozen=True):
    """The balances in every currency that can have one."""

    balances: list[BalanceView]
    has_more: bool
    next_cursor: str | None


class EntryList(Struct, frozen=True):
    """A page of entries."""

    ledger: list[EntryView]
    """The entries of this page."""
    has_more: bool
    next_cursor: str | None


@BALANCE_OPERATIONS.add("GET", "/balances", guard=scope("balances:read"))
async def list_balances(caller: Caller, page: CataloguePageRequest, db: Pool, catalogue: Catalogue) -> BalanceList:
    """List balances. All are as of one moment."""
    found = {balance.currency: balance for balance in await ledger_store.list_balances(db, caller.env)}
    every = [
        found.get(currency.code, Balance(currency.code))
        for currency in catalogue.currencies.values()
        if currency.operations.balances or currency.code in found
    ]
    shown, more, cursor = page.pick(every, lambda balance: balance.currency)
    views = [balance_view(balance, caller.env, catalogue.currencies[balance.currency].decimals) for balance in shown]
    return BalanceList(views, more, cursor)


@BALANCE_OPERATIONS.add("GET", "/balances/{code}", guard=scope("balances:read"), errors=(NotFound,))
async def read_balance(caller: Caller, code: str, db: Pool, catalogue: Catalogue) -> BalanceView:
    """Retrieve a balance."""
    known = catalogue.currencies.get(code)
    if known is None:
        raise NotFound
    return balance_view(await ledger_store.get_balance(db, caller.env, code), caller.env, known.decimals)


@BALANCE_OPERATIONS.add("GET", "/ledger", guard=scope("balances:read"))
async def list_entries(caller: Caller, query: EntriesQuery, page: PageRequest, db: Pool, catalogue: Catalogue) -> EntryList:
    """List ledger entries. Newest first."""
    entry_filter = EntryFilter(query.currency, query.account, query.type, query.source_type, query.source_id)
    found, more, cursor = page.cut(await ledger_store.list_entries(db, caller.env, entry_filter, page.window))
    views = [entry_view(entry, caller.env, catalogue.currencies[entry.currency].decimals) for entry in found]
    return EntryList(views, more, cursor)


@BALANCE_OPERATIONS.add("GET", "/ledger/{entry_id}", guard=scope("balances:read"), errors=(NotFound,))
async def read_entry(caller: Caller, entry_id: UUID, db: Pool, catalogue: Catalogue) -> EntryView:
    """Retrieve a ledger entry."""
    entry = await ledger_store.get_entry(db, caller.env, entry_id)
    if entry is None:
        raise NotFound
    return entry_view(entry, caller.env, catalogue.currencies[entry.currency].decimals)
