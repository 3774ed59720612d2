"""Prices of currencies: the catalogue's in test mode, those that operators post in live mode.

Every price is per euro, so all rates derive from one list and no chain of conversions gains.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair, sandbox_price
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions import positions_store, prices_store
from tollhouse.transfers.conversions.model import NO_POSITION, RATE_TEXT, CurrencyPosition, PairRate, rate_between

EURO = "EUR"
PriceSource = Literal["operator", "feed", "sandbox"]
"""Who a price is from. That of the euro is always one."""


class Price(Struct, frozen=True):
    """Major units of a currency for one euro, the time of the price, and the platform's position in the currency."""

    per_euro: Fraction
    as_of: datetime
    position: CurrencyPosition = NO_POSITION
    source: PriceSource = "operator"


class PostedPrice(Struct, frozen=True):
    """A price in the operators' list."""

    currency: str
    per_euro: str
    operator: str
    at: Timestamp


async def list_prices(db: Pool | Tx, mode: Mode, codes: frozenset[str], now: datetime) -> Mapping[str, Price]:
    """The current prices of these currencies; those without a price are missing."""
    if mode == "test":
        return {code: Price(sandbox_price(code), now, source="sandbox") for code in codes}
    posted = await prices_store.latest(db, sorted(codes - {EURO}))
    positions = await positions_store.list_positions(db, sorted(codes | {EURO}))
    known = {EURO: Price(Fraction(1), now, positions.get(EURO, NO_POSITION))}
    for row in posted:
        if row["is_rejected"]:
            continue
        position = positions.get(row["currency"], NO_POSITION)
        known[row["currency"]] = Price(Fraction(row["per_euro"]), row["at"], position, row["source"])
    return known


def rate_of_pair(pair: ConversionPair, known: Mapping[str, Price], now: datetime) -> PairRate:
    """The current rate of a pair."""
    one, other = known.get(pair.from_currency), known.get(pair.to_currency)
    rate = None if one is None or other is None else rate_between(one.per_euro, other.per_euro, min(one.as_of, other.as_of))
    if not pair.enabled:
        return PairRate(pair, rate, "disabled")
    is_fresh = rate is not None and rate.quintillionths > 0 and now - rate.as_of <= timedelta(seconds=pair.maximum_age_s)
    if one is None or other is None or not is_fresh:
        return PairRate(pair, rate, "rate_stale")
    return PairRate(pair, rate, "position_limit" if one.position.refuses(1) or other.position.refuses(-1) else None)


async def get_rate(db: Pool | Tx, mode: Mode, pair: ConversionPair, now: datetime) -> PairRate:
    """The current rate of one pair."""
    known = await list_prices(db, mode, frozenset({pair.from_currency, pair.to_currency}), now)
    return rate_of_pair(pair, known, now)


def is_price(text: str) -> bool:
    """Whether a text is a valid price."""
    return RATE_TEXT.fullmatch(text) is not None and Fraction(text) > 0


async def list_posted(db: Pool | Tx, *codes: str) -> list[PostedPrice]:
    """The latest posted prices of these currencies, or of all."""
    rows = await prices_store.latest(db, codes or None)
    return [PostedPrice(row["currency"], row["per_euro"], row["operator"], stamp(row["at"])) for row in rows]


async def post(tx: Tx, per_euro: Mapping[str, str], operator: str, now: datetime, source: PriceSource = "operator") -> None:
    """Post the prices of these currencies for live mode."""
    await prices_store.post(tx, [new_id() for _ in per_euro], per_euro, operator, source, now)
