"""What a conversion brings, beside its form: the same amounts as a quote, which is not stored."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions.actions import current_exchange
from tollhouse.transfers.conversions.new_conversion import NewConversionQuote, parse_quote


class ConversionSummary(Struct, frozen=True):
    """Decimal strings, empty until enough is entered; or `message` says why not. Without `balance_after` it is too low."""

    from_currency: str = ""
    from_amount: str = ""
    fee: str = ""
    rate: str = ""
    to_currency: str = ""
    to_amount: str = ""
    balance_after: str = ""
    message: Translatable = ""


async def summarize(
    db: Pool, env: MerchantEnv, new: NewConversionQuote, available: Mapping[str, int], now: datetime, catalogue: Catalogue
) -> ConversionSummary:
    """The summary of what was typed, at the current rate. `available`: the available minor units by currency."""
    try:
        amount = parse_quote(new, catalogue)
        async with db.connection() as tx:
            exchange = await current_exchange(tx, env, amount, now, catalogue)
    except ValidationFailed:
        return ConversionSummary()
    except ApiError as error:
        return ConversionSummary(message=error.message)
    given, got = catalogue.currencies[exchange.from_currency], catalogue.currencies[exchange.to_currency]
    left_minor = available.get(given.code, 0) - exchange.from_amount_minor
    return ConversionSummary(
        from_currency=given.code,
        from_amount=given.format(exchange.from_amount_minor),
        fee=given.format(exchange.fee_minor),
        rate=exchange.rate.text,
        to_currency=got.code,
        to_amount=got.format(exchange.to_amount_minor),
        balance_after=given.format(left_minor) if left_minor >= 0 else "",
    )
