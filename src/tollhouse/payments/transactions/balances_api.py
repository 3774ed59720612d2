"""The Integration API's endpoints for balances and ledger entries."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import CataloguePageRequest, ListQuery, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound
from tollhouse.ledger.books import store
from tollhouse.ledger.books.model import EntryType, MerchantCode
from tollhouse.ledger.books.store import Balance, EntryFilter
from tollhouse.ledger.books.views import BalanceView, EntryView, balance_view, entry_view
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(INTEGRATION)


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
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/balances", guard=scope("balances:read"))
async def list_balances(caller: Caller, page: CataloguePageRequest, db: Pool, catalogue: Catalogue) -> BalanceList:
    """List balances. All are as of one moment."""
    found = {balance.currency: balance for balance in await store.list_balances(db, caller.env)}
    every = [
        found.get(one.code, Balance(one.code))
        for one in catalogue.currencies.values()
        if one.operations.balances or one.code in found
    ]
    shown, more, cursor = page.pick(every, lambda balance: balance.currency)
    views = [balance_view(balance, caller.env, catalogue.currencies[balance.currency].decimals) for balance in shown]
    return BalanceList(views, more, cursor)


@OPERATIONS.add("GET", "/balances/{code}", guard=scope("balances:read"), errors=(NotFound,))
async def read_balance(caller: Caller, code: str, db: Pool, catalogue: Catalogue) -> BalanceView:
    """Retrieve a balance."""
    known = catalogue.currencies.get(code)
    if known is None:
        raise NotFound
    return balance_view(await store.get_balance(db, caller.env, code), caller.env, known.decimals)


@OPERATIONS.add("GET", "/ledger", guard=scope("balances:read"))
async def list_entries(caller: Caller, query: EntriesQuery, page: PageRequest, db: Pool, catalogue: Catalogue) -> EntryList:
    """List ledger entries. Newest first."""
    entry_filter = EntryFilter(query.currency, query.account, query.type, query.source_type, query.source_id)
    found, more, cursor = page.cut(await store.list_entries(db, caller.env, entry_filter, page.window))
    views = [entry_view(entry, caller.env, catalogue.currencies[entry.currency].decimals) for entry in found]
    return EntryList(views, more, cursor)


@OPERATIONS.add("GET", "/ledger/{entry_id}", guard=scope("balances:read"), errors=(NotFound,))
async def read_entry(caller: Caller, entry_id: UUID, db: Pool, catalogue: Catalogue) -> EntryView:
    """Retrieve a ledger entry."""
    entry = await store.get_entry(db, caller.env, entry_id)
    if entry is None:
        raise NotFound
    return entry_view(entry, caller.env, catalogue.currencies[entry.currency].decimals)
