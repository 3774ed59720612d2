"""What a merchant does: ask what a conversion brings, and convert."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.audit import record
from tollhouse.audit.changes import made
from tollhouse.catalogue.currencies import priced
from tollhouse.conversions import notify, prices, quotes_store, store
from tollhouse.conversions.model import Conversion, Exchange, Quote, getting, giving
from tollhouse.conversions.new_conversion import (
    Asked,
    NewConversion,
    NewQuote,
    refuse_unfitting,
    refuse_unusable,
    understand,
    understand_quote,
)
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.model import (
    Account,
    EntryType,
    JournalEntry,
    PostedTransaction,
    Posting,
    Source,
    available,
    income,
)
from tollhouse.ledger.post import post
from tollhouse.orders.errors import PriceChanged, QuoteAlreadyUsed, QuoteExpired
from tollhouse.orders.funds import ensure_available
from tollhouse.platform.db import Tx

QUOTE_LASTS = timedelta(seconds=30)
FX = Account("fx")


async def quote(tx: Tx, env: MerchantEnv, new: NewQuote, now: datetime) -> Quote:
    """Tell what a conversion brings, and keep to it for half a minute. Raises the refusals of pairs and amounts."""
    exchange = await _at_the_price_of_now(tx, env, understand_quote(new), now)
    # Nothing below this line may refuse.
    return await quotes_store.insert(tx, new_id(), env, exchange, now, QUOTE_LASTS)


async def offer(tx: Tx, env: MerchantEnv, new: NewQuote, now: datetime) -> Quote:
    """A quote for a conversion that the balance covers now. Raises as `quote`, and `InsufficientFunds`."""
    exchange = await _at_the_price_of_now(tx, env, understand_quote(new), now)
    await ensure_available(tx, env, exchange.from_currency, exchange.from_amount_minor)
    # Nothing below this line may refuse.
    return await quotes_store.insert(tx, new_id(), env, exchange, now, QUOTE_LASTS)


async def convert(tx: Tx, env: MerchantEnv, new: NewConversion, services: Services, now: datetime) -> Conversion:
    """Convert by a quote, or at the price of now. Raises every refusal there is."""
    asked = understand(new, env, services.settings)
    if asked is not None:
        exchange = await _at_the_price_of_now(tx, env, asked, now)
    elif new.quote_id is not None:
        exchange = await _as_quoted(tx, env, new.quote_id, now)
    else:
        raise AssertionError("a quote or a pair is asked for")
    await ensure_available(tx, env, exchange.from_currency, exchange.from_amount_minor)
    # The database judges quote and balance once more below, and its verdict refuses everything.
    if new.quote_id is not None and not await quotes_store.use(tx, env, new.quote_id, now):
        raise await _why_not_quote(tx, env, new.quote_id)
    conversion = Conversion(
        id=new_id(),
        env=env,
        exchange=exchange,
        quote_id=new.quote_id,
        rule_id=None,
        rule_step=None,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        metadata=new.metadata or {},
        created_at=now,
    )
    await carry_out(tx, conversion, services, now)
    given = priced(exchange.from_amount_minor, exchange.from_currency)
    about = made(amount=given, received=priced(exchange.to_amount_minor, exchange.to_currency), external_id=new.external_id)
    await record.note(tx, env, "conversion.made", now, subject=conversion.id, changed=about)
    return conversion


async def carry_out(tx: Tx, conversion: Conversion, services: Services, now: datetime) -> PostedTransaction:
    """Keep, post and tell a conversion that was judged. Raises `InsufficientFunds` where the money went meanwhile."""
    made, env = conversion.exchange, conversion.env
    moves: tuple[tuple[EntryType, str, int, Account, Account], ...] = (
        ("conversion_out", made.from_currency, made.from_amount_minor - made.fee_minor, available(env), FX),
        ("conversion_fee", made.from_currency, made.fee_minor, available(env), income("conversion_fee")),
        ("conversion_in", made.to_currency, made.to_amount_minor, FX, available(env)),
    )
    postings = tuple(Posting(kind, code, minor, debit, credit) for kind, code, minor, debit, credit in moves if minor)
    await store.insert(tx, conversion)
    posted = await post(tx, JournalEntry(env.mode, "conversion_out", Source(notify.SOURCE, conversion.id), postings, now))
    await notify.completed(tx, conversion, posted, services, now)
    return posted


async def _at_the_price_of_now(tx: Tx, env: MerchantEnv, asked: Asked, now: datetime) -> Exchange:
    offer = await prices.offer_of(tx, env.mode, asked.pair, now)
    refuse_unusable(offer)
    if offer.rate is None:
        raise AssertionError("a pair without a rate cannot be used")
    if asked.from_amount_minor is not None:
        exchange = giving(asked.pair, offer.rate, asked.from_amount_minor)
    else:
        exchange = getting(asked.pair, offer.rate, asked.to_amount_minor or 0)
    refuse_unfitting(asked.pair, exchange)
    if exchange.to_amount_minor < asked.minimum_minor:
        raise PriceChanged({"to_amount_minor": exchange.to_amount_minor})
    return exchange


async def _as_quoted(tx: Tx, env: MerchantEnv, quote_id: UUID, now: datetime) -> Exchange:
    found = await quotes_store.one(tx, env, quote_id)
    if found is None:
        raise NotFound
    if not await quotes_store.is_good(tx, env, quote_id, now):
        raise await _why_not_quote(tx, env, quote_id)
    return found.exchange


async def _why_not_quote(tx: Tx, env: MerchantEnv, quote_id: UUID) -> QuoteAlreadyUsed | QuoteExpired:
    found = await quotes_store.one(tx, env, quote_id)
    return QuoteExpired() if found is None or found.used_at is None else QuoteAlreadyUsed()
