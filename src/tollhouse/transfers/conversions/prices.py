"""Prices of currencies: the catalogue's in test mode, those that operators or the price feed post in live mode.

Every price is per euro, so all rates derive from one list and no chain of conversions gains. The feed compares the prices of
its source with a second source and the last price.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Literal

from msgspec import Raw, Struct

from tollhouse.http.services import Services, Work
from tollhouse.kernel import foreign_json
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair, PriceFeed, sandbox_price
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.kernel.money import format_minor
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.outbound import Outbound
from tollhouse.transfers.conversions import prices_store
from tollhouse.transfers.conversions.model import (
    NO_POSITION,
    ONE,
    RATE_DECIMALS,
    RATE_TEXT,
    CurrencyPosition,
    PairRate,
    rate_between,
)

EURO = "EUR"
PriceSource = Literal["operator", "feed", "sandbox"]
"""Who a price is from. That of the euro is always one."""
PRICE = re.compile(r"[0-9]{1,18}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?")
BASIS_POINTS = 10_000
BYTES_MAX = 262_144
POSTED_BY = "price feed"
Rejection = Literal["sources_differ", "price_jump"]


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
    positions = await prices_store.list_positions(db, sorted(codes | {EURO}))
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


class FeedError(Exception):
    """A source did not answer with prices. The message is a code."""


async def read_feed(services: Services, feed: PriceFeed, now: datetime) -> None:
    """Read the source if it is due, and post its prices. Of several workers, one does it."""
    if not await prices_store.lease_feed(services.db, now, now + timedelta(seconds=feed.every_s)):
        return
    codes = [code for code in services.catalogue.currencies if code != EURO]
    try:
        async with Outbound(services.settings) as outbound:
            found = await _read(outbound, feed.url, feed.pointer, codes)
            check = None if feed.check_url is None else await _read(outbound, feed.check_url, feed.check_pointer, codes)
    except FeedError as error:
        log.warning("price_feed_failed", error=str(error))
        await prices_store.record_feed_error(services.db, str(error))
        return
    await services.transact(lambda work: _post(work, feed, found, check), now)


def read_prices(body: bytes, pointer: str, codes: list[str]) -> dict[str, Fraction]:
    """The prices of these currencies in a document; those that are missing or no prices are left out. Raises `FeedError`.

    Numbers are read as they are written, never as floats.
    """
    for part in pointer.split("/")[1:]:
        body = bytes(_members(body).get(part.replace("~1", "/").replace("~0", "~"), b"null"))
    listed = _members(body)
    return {code: price for code in codes if code in listed and (price := _price(bytes(listed[code]))) is not None}


def rejection(feed: PriceFeed, price: Fraction, check: Fraction | None, last: Fraction | None) -> Rejection | None:
    """Why a price is not used; None if it is. `check` is that of the second source, `last` the one before."""
    if check is not None and _differs(price, check, feed.difference_basis_points):
        return "sources_differ"
    return "price_jump" if last is not None and _differs(price, last, feed.change_basis_points) else None


async def _read(outbound: Outbound, url: str, pointer: str, codes: list[str]) -> dict[str, Fraction]:
    response = await outbound.get(url, {"Accept": "application/json"}, kept_bytes=BYTES_MAX)
    if response.error is not None:
        raise FeedError(response.error)
    return read_prices(response.body, pointer, codes)


async def _post(work: Work, feed: PriceFeed, found: Mapping[str, Fraction], check: Mapping[str, Fraction] | None) -> None:
    """Post the prices that can be used. With a second source, only those that both have."""
    last = {row["currency"]: Fraction(row["per_euro"]) for row in await prices_store.latest(work.tx)}
    compared = {code: price for code, price in found.items() if check is None or code in check}
    reasons = dict[str, str]()
    for code, price in compared.items():
        reason = rejection(feed, price, None if check is None else check[code], last.get(code))
        if reason is not None:
            log.warning("price_rejected", code=code, reason=reason)
            reasons[code] = reason
    used = {code: _text(price) for code, price in compared.items() if code not in reasons}
    await prices_store.reject_prices(work.tx, reasons, work.now)
    await prices_store.clear_rejections(work.tx, list(used))
    await post(work.tx, used, POSTED_BY, work.now, "feed")


def _members(document: bytes) -> dict[str, Raw]:
    """The members of a JSON object, as they are written. Raises `FeedError`."""
    try:
        return foreign_json.decode(document, dict[str, Raw])
    except ForeignJsonError:
        raise FeedError("bad_response") from None


def _price(written: bytes) -> Fraction | None:
    """A price of a JSON number or text, rounded to 18 decimals; None if it is none or not above zero."""
    value = written.decode("utf-8", "replace").removeprefix('"').removesuffix('"')
    if PRICE.fullmatch(value) is None:
        return None
    scaled = round(Fraction(value) * ONE)
    return Fraction(scaled, ONE) if 0 < scaled < ONE * ONE else None


def _text(price: Fraction) -> str:
    """A price as the database stores it."""
    return format_minor(round(price * ONE), RATE_DECIMALS)


def _differs(one: Fraction, other: Fraction, basis_points: int) -> bool:
    return abs(one - other) * BASIS_POINTS > basis_points * min(one, other)
