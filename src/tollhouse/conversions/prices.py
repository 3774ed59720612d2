"""What currencies cost: in test mode what the catalogue says, in live mode what an operator has posted, and not long ago.

Every price is what one euro buys. So all rates come of one list, and no circle of conversions gains anything.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from tollhouse.catalogue.conversion_pairs import ConversionPair, sandbox_price
from tollhouse.conversions import prices_store
from tollhouse.conversions.model import RATE_TEXT, Rate, rate_between
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.platform.db import Pool, Tx

EURO = "EUR"
UnavailableReason = Literal["rate_stale", "disabled"]


class Price(Struct, frozen=True):
    """What one euro buys, and when that was so."""

    per_euro: Fraction
    as_of: datetime


class PostedPrice(Struct, frozen=True):
    """A price in the operator's list."""

    currency: str
    per_euro: str
    operator: str
    at: Timestamp


class Offer(Struct, frozen=True):
    """A pair, its rate where there is one, and why it cannot be used; None where it can."""

    pair: ConversionPair
    rate: Rate | None
    unavailable_reason: UnavailableReason | None


async def prices(db: Pool | Tx, mode: Mode, codes: frozenset[str], now: datetime) -> Mapping[str, Price]:
    """What is known of these currencies."""
    if mode == "test":
        return {code: Price(sandbox_price(code), now) for code in codes}
    posted = await prices_store.latest(db, sorted(codes - {EURO}))
    return {EURO: Price(Fraction(1), now)} | {row["currency"]: Price(Fraction(row["per_euro"]), row["at"]) for row in posted}


def offer(pair: ConversionPair, known: Mapping[str, Price], now: datetime) -> Offer:
    """What a pair is worth now."""
    one, other = known.get(pair.from_currency), known.get(pair.to_currency)
    rate = None if one is None or other is None else rate_between(one.per_euro, other.per_euro, min(one.as_of, other.as_of))
    if not pair.enabled:
        return Offer(pair, rate, "disabled")
    fresh = rate is not None and rate.quintillionths > 0 and now - rate.as_of <= timedelta(seconds=pair.maximum_age_s)
    return Offer(pair, rate, None if fresh else "rate_stale")


async def offer_of(db: Pool | Tx, mode: Mode, pair: ConversionPair, now: datetime) -> Offer:
    """What one pair is worth now."""
    known = await prices(db, mode, frozenset({pair.from_currency, pair.to_currency}), now)
    return offer(pair, known, now)


def is_price(text: str) -> bool:
    """Whether this is a price as it can be kept."""
    return RATE_TEXT.fullmatch(text) is not None and Fraction(text) > 0


async def posted(db: Pool | Tx, *codes: str) -> list[PostedPrice]:
    """The latest prices of these currencies, or of all that were posted."""
    rows = await prices_store.latest(db, codes or None)
    return [PostedPrice(row["currency"], row["per_euro"], row["operator"], stamp(row["at"])) for row in rows]


async def post(tx: Tx, currency: str, per_euro: str, operator: str, now: datetime) -> None:
    """From now on, and until it is too old, one euro buys so much of a currency in live mode."""
    await prices_store.post(tx, new_id(), currency, per_euro, operator, now)
