"""Pairs, quotes and conversions in the Integration API."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import CataloguePageRequest, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions import actions, prices, store
from tollhouse.transfers.conversions.errors import PairUnavailable
from tollhouse.transfers.conversions.new_conversion import NewConversion, NewConversionQuote
from tollhouse.transfers.conversions.store import ConversionsQuery
from tollhouse.transfers.conversions.views import (
    ConversionPairView,
    ConversionQuoteView,
    ConversionView,
    conversion_quote_view,
    conversion_view,
    pair_view,
)
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, CurrencyNotSupported, PriceChanged
from tollhouse.transfers.orders.quotes import QUOTE_ERRORS

OPERATIONS = Operations(INTEGRATION)
PAIR_ERRORS = (CurrencyNotSupported, PairUnavailable, AmountBelowMinimum, AmountAboveMaximum)


class ConversionPairList(Struct, frozen=True):
    """A page of pairs."""

    conversion_pairs: list[ConversionPairView]
    has_more: bool
    next_cursor: str | None


class ConversionList(Struct, frozen=True):
    """A page of conversions."""

    conversions: list[ConversionView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/conversion-pairs", guard=scope("conversions:read"))
async def list_pairs(
    caller: Caller, page: CataloguePageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> ConversionPairList:
    """List currency pairs. Unavailable ones have a reason."""
    found, more, cursor = page.pick(catalogue.pairs(), lambda pair: f"{pair.from_currency} {pair.to_currency}")
    codes = frozenset(code for pair in found for code in (pair.from_currency, pair.to_currency))
    known = await prices.list_prices(db, caller.env.mode, codes, now)
    return ConversionPairList([pair_view(prices.rate_of_pair(pair, known, now), caller.env) for pair in found], more, cursor)


@OPERATIONS.add(
    "POST",
    "/conversion-quotes",
    guard=scope("conversions:read"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, *PAIR_ERRORS),
)
async def quote_conversion(
    caller: Caller, body: NewConversionQuote, tx: Tx, now: datetime, catalogue: Catalogue
) -> ConversionQuoteView:
    """Create a conversion quote. It is guaranteed for 30 seconds. No money is reserved."""
    return conversion_quote_view(await actions.quote(tx, caller.env, body, now, catalogue), catalogue)


@OPERATIONS.add(
    "POST",
    "/conversions",
    guard=scope("conversions:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        *QUOTE_ERRORS,
        *PAIR_ERRORS,
        PriceChanged,
        InsufficientFunds,
        BalanceLimitExceeded,
    ),
)
async def convert(caller: Caller, body: NewConversion, work: Work) -> ConversionView:
    """Create a conversion. It converts an amount of the balance to another currency."""
    return conversion_view(await actions.convert(work, caller.env, body), work.services.catalogue)


@OPERATIONS.add("GET", "/conversions", guard=scope("conversions:read"))
async def list_conversions(
    caller: Caller, query: ConversionsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> ConversionList:
    """List conversions. Newest first."""
    found, more, cursor = page.cut(await store.list_conversions(db, caller.env, query, page.window))
    return ConversionList([conversion_view(one, catalogue) for one in found], more, cursor)


@OPERATIONS.add("GET", "/conversions/{conversion_id}", guard=scope("conversions:read"), errors=(NotFound,))
async def read_conversion(caller: Caller, conversion_id: UUID, db: Pool, catalogue: Catalogue) -> ConversionView:
    """Retrieve a conversion."""
    return conversion_view(await store.get(db, caller.env, conversion_id), catalogue)
