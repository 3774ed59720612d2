"""Actions of merchants on conversions: quote and convert."""

from datetime import datetime, timedelta

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import (
    Account,
    EntryType,
    JournalEntry,
    LedgerTransaction,
    Posting,
    Source,
    available,
    income,
)
from tollhouse.ledger.books.post import defer_post
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.conversions import notify, positions_store, prices, store
from tollhouse.transfers.conversions.errors import PairUnavailable
from tollhouse.transfers.conversions.model import Conversion, Exchange, exchange_from, exchange_to
from tollhouse.transfers.conversions.new_conversion import (
    ConversionAmount,
    NewConversion,
    NewConversionQuote,
    ensure_limits,
    ensure_pair_available,
    parse,
    parse_quote,
)
from tollhouse.transfers.gate import gate
from tollhouse.transfers.orders import quotes
from tollhouse.transfers.orders.errors import PriceChanged
from tollhouse.transfers.orders.funds import ensure_funds
from tollhouse.transfers.orders.quotes import Quote

QUOTE_VALID_FOR = timedelta(seconds=30)
FX = Account("fx")


async def quote(
    tx: Tx, env: MerchantEnv, new: NewConversionQuote, now: datetime, catalogue: Catalogue, *, check_funds: bool = False
) -> Quote[Exchange]:
    """Quote a conversion. Raises `ValidationFailed`, the errors of pairs and amounts, and `InsufficientFunds` if checked."""
    exchange = await current_exchange(tx, env, parse_quote(new, catalogue), now, catalogue)
    if check_funds:
        await ensure_funds(tx, env, exchange.from_currency, exchange.from_amount_minor)
    # Nothing below this line may refuse.
    created = await quotes.create(tx, env, exchange, now, QUOTE_VALID_FOR)
    await store.insert_quote(tx, created)
    return created


async def convert(work: Work, env: MerchantEnv, new: NewConversion) -> Conversion:
    """Convert by a quote, or at the current rate. Raises the errors of `quote`, of quotes and `PriceChanged`."""
    amount = parse(new, env, work.services.settings, work.services.catalogue)
    quoted: Quote[Exchange] | None = None
    if new.quote_id is not None:
        quoted = await store.lock_quote(work.tx, env, new.quote_id)
        await quotes.ensure_usable(work.tx, quoted, work.now)
        exchange = quoted.terms
    elif amount is not None:
        exchange = await current_exchange(work.tx, env, amount, work.now, work.services.catalogue)
    else:
        raise AssertionError("a conversion names a quote or an amount")
    await ensure_funds(work.tx, env, exchange.from_currency, exchange.from_amount_minor)
    # The database checks the quote and the balance again below; any error rolls everything back.
    if quoted is not None:
        await quotes.mark_used(work.tx, store.USE_QUOTE, quoted, work.now)
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
        created_at=work.now,
    )
    await gate.let_leave(work.tx, env.merchant_id)
    await execute(work, conversion)
    given = work.services.catalogue.priced(exchange.from_amount_minor, exchange.from_currency)
    received = work.services.catalogue.priced(exchange.to_amount_minor, exchange.to_currency)
    about = new_values(amount=given, received=received, external_id=new.external_id)
    await record.event(work, env, "conversion.made", subject=conversion.id, changed=about)
    return conversion


async def execute(work: Work, conversion: Conversion) -> LedgerTransaction:
    """Store a checked conversion, post it and record its events.

    Raises `PairUnavailable` if a position would exceed its limit, `InsufficientFunds` and `BalanceLimitExceeded`.
    """
    made, env = conversion.exchange, conversion.env
    moves: tuple[tuple[EntryType, str, int, Account, Account], ...] = (
        ("conversion_out", made.from_currency, made.from_amount_minor - made.fee_minor, available(env), FX),
        ("conversion_fee", made.from_currency, made.fee_minor, available(env), income("conversion_fee")),
        ("conversion_in", made.to_currency, made.to_amount_minor, FX, available(env)),
    )
    postings = tuple(Posting(kind, code, minor, debit, credit) for kind, code, minor, debit, credit in moves if minor)
    await store.insert(work.tx, conversion)
    posted = await defer_post(work, JournalEntry(env.mode, "conversion_out", Source(notify.SOURCE, conversion.id), postings))
    await notify.completed(work, conversion, posted)
    return posted


async def current_exchange(
    tx: Tx, env: MerchantEnv, amount: ConversionAmount, now: datetime, catalogue: Catalogue
) -> Exchange:
    """The exchange at the current rate. Raises the errors of pairs and amounts."""
    current = await prices.get_rate(tx, env.mode, amount.pair, now)
    ensure_pair_available(current)
    if current.rate is None:
        raise AssertionError("an available pair has a rate")
    if amount.from_amount_minor is not None:
        exchange = exchange_from(amount.pair, current.rate, amount.from_amount_minor, catalogue)
    else:
        exchange = exchange_to(amount.pair, current.rate, amount.to_amount_minor or 0, catalogue)
    ensure_limits(amount.pair, exchange, catalogue)
    if env.mode == "live":
        await ensure_position(tx, exchange)
    if exchange.to_amount_minor < amount.minimum_minor:
        raise PriceChanged({"to_amount_minor": exchange.to_amount_minor})
    return exchange


async def ensure_position(tx: Tx, made: Exchange) -> None:
    """Raise `PairUnavailable` if a position of the platform would exceed its limit. The database checks it again."""
    changes = {made.from_currency: made.from_amount_minor - made.fee_minor, made.to_currency: -made.to_amount_minor}
    positions = await positions_store.list_positions(tx, sorted(changes))
    if any(position.refuses(changes[code]) for code, position in positions.items()):
        raise PairUnavailable("position_limit")
