"""Pairs, quotes and conversions as the Integration API offers them."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.conversion_pairs import pairs
from tollhouse.conversions import actions, prices, store
from tollhouse.conversions.errors import PairUnavailable
from tollhouse.conversions.model import ConversionStatus
from tollhouse.conversions.new_conversion import NewConversion, NewQuote
from tollhouse.conversions.store import ConversionFilter
from tollhouse.conversions.views import ConversionView, PairView, QuoteView, conversion_view, pair_view, quote_view
from tollhouse.http.lists import CataloguePart, ListQuery, Part
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services
from tollhouse.identity.guards import scope
from tollhouse.identity.model import Caller
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.orders.errors import (
    AmountAboveMaximum,
    AmountBelowMinimum,
    CurrencyNotSupported,
    PriceChanged,
    QuoteAlreadyUsed,
    QuoteExpired,
)
from tollhouse.platform.db import Pool, Tx

OPERATIONS = Operations(INTEGRATION)
OF_PAIRS = (CurrencyNotSupported, PairUnavailable, AmountBelowMinimum, AmountAboveMaximum)


class ConversionsQuery(ListQuery, frozen=True):
    """Filters of GET /conversions. `currency` is either of the two."""

    status: list[ConversionStatus] | None = None
    currency: str | None = None
    rule_id: UUID | None = None
    external_id: str | None = None


class PairsAnswer(Struct, frozen=True):
    """A page of pairs."""

    conversion_pairs: list[PairView]
    has_more: bool
    next_cursor: str | None


class ConversionsAnswer(Struct, frozen=True):
    """A page of conversions."""

    conversions: list[ConversionView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/conversion-pairs", guard=scope("conversions:read"))
async def list_pairs(caller: Caller, part: CataloguePart, db: Pool, now: datetime) -> PairsAnswer:
    """List every pair of currencies that can be converted, the unavailable ones with the reason."""
    shown, more, cursor = part.pick(pairs(), lambda pair: f"{pair.from_currency} {pair.to_currency}")
    codes = frozenset(code for pair in shown for code in (pair.from_currency, pair.to_currency))
    known = await prices.prices(db, caller.env.mode, codes, now)
    return PairsAnswer([pair_view(prices.offer(pair, known, now), caller.env) for pair in shown], more, cursor)


@OPERATIONS.add(
    "POST",
    "/conversion-quotes",
    guard=scope("conversions:read"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, *OF_PAIRS),
)
async def quote_conversion(caller: Caller, body: NewQuote, tx: Tx, now: datetime) -> QuoteView:
    """Tell what a conversion brings, and keep to it for half a minute. Nothing is set aside."""
    return quote_view(await actions.quote(tx, caller.env, body, now))


@OPERATIONS.add(
    "POST",
    "/conversions",
    guard=scope("conversions:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        NotFound,
        QuoteExpired,
        QuoteAlreadyUsed,
        *OF_PAIRS,
        PriceChanged,
        InsufficientFunds,
        BalanceLimitExceeded,
    ),
)
async def convert(caller: Caller, body: NewConversion, tx: Tx, now: datetime, services: Services) -> ConversionView:
    """Convert an amount of the balance into another currency."""
    return conversion_view(await actions.convert(tx, caller.env, body, services, now))


@OPERATIONS.add("GET", "/conversions", guard=scope("conversions:read"))
async def list_conversions(caller: Caller, query: ConversionsQuery, part: Part, db: Pool) -> ConversionsAnswer:
    """List conversions, newest first."""
    wanted = ConversionFilter(query.status, query.currency, query.rule_id, query.external_id)
    found, more, cursor = part.cut(await store.listed(db, caller.env, wanted, part.window))
    return ConversionsAnswer([conversion_view(one) for one in found], more, cursor)


@OPERATIONS.add("GET", "/conversions/{conversion_id}", guard=scope("conversions:read"), errors=(NotFound,))
async def read_conversion(caller: Caller, conversion_id: UUID, db: Pool) -> ConversionView:
    """Read a conversion."""
    found = await store.one(db, caller.env, conversion_id)
    if found is None:
        raise NotFound
    return conversion_view(found)
