"""Pairs, quotes, conversions and conversion rules in the Integration API."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope, spending
from tollhouse.accounts.identity.model import Caller
from tollhouse.accounts.spending.model import ConnectionLimitExceeded
from tollhouse.http.lists import CataloguePageRequest, ListPageRequest, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions import actions, prices, rules, rules_store, store
from tollhouse.transfers.conversions.actions import NewConversion, NewConversionQuote
from tollhouse.transfers.conversions.model import PairUnavailable, RuleChanged, RuleConflict, RuleCreator
from tollhouse.transfers.conversions.rules import ConversionRuleUpdate, NewConversionRule
from tollhouse.transfers.conversions.store import ConversionsQuery
from tollhouse.transfers.conversions.views import (
    ConversionPairView,
    ConversionQuoteView,
    ConversionRuleView,
    ConversionView,
    conversion_quote_view,
    conversion_view,
    pair_view,
)
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, CurrencyNotSupported, PriceChanged
from tollhouse.transfers.orders.quotes import QUOTE_ERRORS

OPERATIONS = Operations(INTEGRATION)
PAIR_ERRORS = (CurrencyNotSupported, PairUnavailable, AmountBelowMinimum, AmountAboveMaximum)
RULE_OPERATIONS = Operations(INTEGRATION)


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
    guard=spending("conversions:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        *QUOTE_ERRORS,
        *PAIR_ERRORS,
        PriceChanged,
        ConnectionLimitExceeded,
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
    return ConversionList([conversion_view(conversion, catalogue) for conversion in found], more, cursor)


@OPERATIONS.add("GET", "/conversions/{conversion_id}", guard=scope("conversions:read"), errors=(NotFound,))
async def read_conversion(caller: Caller, conversion_id: UUID, db: Pool, catalogue: Catalogue) -> ConversionView:
    """Retrieve a conversion."""
    return conversion_view(await store.get(db, caller.env, conversion_id), catalogue)


class ConversionRuleList(Struct, frozen=True):
    """A page of rules."""

    conversion_rules: list[ConversionRuleView]
    has_more: bool
    next_cursor: str | None


@RULE_OPERATIONS.add("GET", "/conversion-rules", guard=scope("conversions:read"))
async def list_rules(caller: Caller, page: ListPageRequest, db: Pool, catalogue: Catalogue) -> ConversionRuleList:
    """List conversion rules. Newest first."""
    found, more, cursor = page.cut(await rules_store.list_rules(db, caller.env, page.window))
    return ConversionRuleList([ConversionRuleView.of(rule, catalogue) for rule in found], more, cursor)


@RULE_OPERATIONS.add(
    "POST",
    "/conversion-rules",
    guard=spending("conversions:write"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, CurrencyNotSupported, RuleConflict, ConnectionLimitExceeded),
)
async def make_rule(caller: Caller, body: NewConversionRule, work: Work) -> ConversionRuleView:
    """Create a conversion rule. It converts a share of each payment, or of the balance when it reaches a threshold."""
    created_by = RuleCreator("api_key") if caller.client_id is None else RuleCreator("oauth", caller.client_id)
    return ConversionRuleView.of(await rules.create(work, caller.env, created_by, body), work.services.catalogue)


@RULE_OPERATIONS.add("GET", "/conversion-rules/{rule_id}", guard=scope("conversions:read"), errors=(NotFound,))
async def read_rule(caller: Caller, rule_id: UUID, db: Pool, catalogue: Catalogue) -> ConversionRuleView:
    """Retrieve a conversion rule."""
    return ConversionRuleView.of(await rules_store.get(db, caller.env, rule_id), catalogue)


@RULE_OPERATIONS.add(
    "PUT",
    "/conversion-rules/{rule_id}",
    guard=spending("conversions:write"),
    errors=(NotFound, ValidationFailed, CurrencyNotSupported, RuleChanged, RuleConflict, ConnectionLimitExceeded),
)
async def change_rule(caller: Caller, rule_id: UUID, body: ConversionRuleUpdate, work: Work) -> ConversionRuleView:
    """Update a conversion rule. Send all members."""
    return ConversionRuleView.of(await rules.update(work, caller.env, rule_id, body), work.services.catalogue)


@RULE_OPERATIONS.add("DELETE", "/conversion-rules/{rule_id}", guard=scope("conversions:write"), errors=(NotFound,))
async def end_rule(caller: Caller, rule_id: UUID, work: Work) -> ConversionRuleView:
    """Delete a conversion rule. Its conversions are kept."""
    return ConversionRuleView.of(await rules.delete(work, caller.env, rule_id), work.services.catalogue)
