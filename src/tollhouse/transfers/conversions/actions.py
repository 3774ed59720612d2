"""Actions of merchants on conversions: quote and convert. Their requests, validation and events."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.money import MINOR_MAX
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
from tollhouse.ledger.books.post import post
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.conversions import prices, prices_store, store
from tollhouse.transfers.conversions.model import Conversion, Exchange, PairRate, PairUnavailable, exchange_from, exchange_to
from tollhouse.transfers.conversions.views import conversion_view
from tollhouse.transfers.gate import gate, spending
from tollhouse.transfers.orders import quotes
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, CurrencyNotSupported, PriceChanged
from tollhouse.transfers.orders.quotes import Quote, destination_errors, ensure_funds
from tollhouse.webhooks.events.record import EventSource
from tollhouse.webhooks.events.record import record as record_event

SOURCE = "conversion"
QUOTE_VALID_FOR = timedelta(seconds=30)
FX = Account("fx")


class NewConversionQuote(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A pair and either the amount to convert or the amount to receive."""

    from_currency: str
    to_currency: str
    amount: Annotated[Amount, example("4.20")] = None
    to_amount: Amount = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _quote_errors(self, context.catalogue)


class NewConversion(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A conversion to make: by a quote, or of an amount at the current rate."""

    quote_id: UUID | None = None
    from_currency: Annotated[str | None, example("EUR")] = None
    to_currency: Annotated[str | None, example("USD")] = None
    amount: Annotated[Amount, example("4.20")] = None
    min_to_amount: Amount = None
    webhook_url: Annotated[str | None, example("https://shop.example/hooks/tollhouse")] = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _conversion_errors(self, context.caller.env, context.settings, context.catalogue)


class ConversionAmount(Struct, frozen=True):
    """A pair and one of the two amounts; `minimum_minor` is the lowest acceptable amount to receive."""

    pair: ConversionPair
    from_amount_minor: int | None = None
    to_amount_minor: int | None = None
    minimum_minor: int = 0


def parse_quote(new: NewConversionQuote, catalogue: Catalogue) -> ConversionAmount:
    """The pair and amount to quote. Raises `ValidationFailed` with every error, then `CurrencyNotSupported`."""
    if field_errors := list(_quote_errors(new, catalogue)):
        raise ValidationFailed(*field_errors)
    from_minor = minor_of(new.amount, catalogue.currencies[new.from_currency])
    to_minor = minor_of(new.to_amount, catalogue.currencies[new.to_currency])
    return ConversionAmount(pair_of(new.from_currency, new.to_currency, catalogue), from_minor, to_minor)


def parse(new: NewConversion, env: MerchantEnv, settings: Settings, catalogue: Catalogue) -> ConversionAmount | None:
    """The pair and amount to convert; None with a quote. Raises as `parse_quote`."""
    if field_errors := list(_conversion_errors(new, env, settings, catalogue)):
        raise ValidationFailed(*field_errors)
    if new.quote_id is not None:
        return None
    source, target = new.from_currency or "", new.to_currency or ""
    minimum_minor = minor_of(new.min_to_amount, catalogue.currencies[target])
    return ConversionAmount(
        pair_of(source, target, catalogue), minor_of(new.amount, catalogue.currencies[source]), None, minimum_minor or 0
    )


def currency_errors(source: str, target: str, catalogue: Catalogue) -> Iterator[FieldError]:
    """The errors of two currencies as a pair."""
    for member, code in (("from_currency", source), ("to_currency", target)):
        if code not in catalogue.currencies:
            yield FieldError(member, "invalid_currency", messages.A_CURRENCY)
    if source == target:
        yield FieldError("to_currency", "same_currency", "This must differ from from_currency.")


def pair_of(source: str, target: str, catalogue: Catalogue) -> ConversionPair:
    """The pair of two known currencies. Raises `CurrencyNotSupported`."""
    members = {"from_currency": source, "to_currency": target}
    if unsupported := [member for member, code in members.items() if not catalogue.currencies[code].operations.conversions]:
        raise CurrencyNotSupported(*unsupported)
    return catalogue.pair(source, target)


def ensure_pair_available(current: PairRate) -> None:
    """Raises `PairUnavailable` with the reason."""
    if current.unavailable_reason is not None:
        raise PairUnavailable(current.unavailable_reason)


def ensure_limits(pair: ConversionPair, exchange: Exchange, catalogue: Catalogue) -> None:
    """Raises `AmountBelowMinimum` and `AmountAboveMaximum`."""
    if exchange.from_amount_minor < pair.minimum_minor:
        raise AmountBelowMinimum(pair.minimum_minor)
    if exchange.to_amount_minor <= 0 or exchange.fee_minor >= exchange.from_amount_minor:
        raise AmountBelowMinimum(max(pair.minimum_minor, exchange_to(pair, exchange.rate, 1, catalogue).from_amount_minor))
    maximum_minor = MINOR_MAX if pair.maximum_minor is None else pair.maximum_minor
    if exchange.from_amount_minor > maximum_minor or exchange.to_amount_minor > MINOR_MAX:
        raise AmountAboveMaximum(maximum_minor)


def _quote_errors(new: NewConversionQuote, catalogue: Catalogue) -> Iterator[FieldError]:
    yield from currency_errors(new.from_currency, new.to_currency, catalogue)
    if (new.amount is None) == (new.to_amount is None):
        yield FieldError("amount", "invalid_value", "Send either amount or to_amount.")
    elif new.amount is not None:
        yield from _amount_errors("amount", new.amount, new.from_currency, catalogue)
    else:
        yield from _amount_errors("to_amount", new.to_amount, new.to_currency, catalogue)


def _conversion_errors(
    new: NewConversion, env: MerchantEnv, settings: Settings, catalogue: Catalogue
) -> Iterator[FieldError]:
    if new.quote_id is None:
        yield from currency_errors(new.from_currency or "", new.to_currency or "", catalogue)
        yield from _amount_errors("amount", new.amount, new.from_currency, catalogue)
        if new.min_to_amount is not None:
            yield from _amount_errors("min_to_amount", new.min_to_amount, new.to_currency, catalogue)
    else:
        for member in ("from_currency", "to_currency", "amount", "min_to_amount"):
            if getattr(new, member) is not None:
                yield FieldError(member, "not_with_quote", "Omit this member: the quote determines it.")
    yield from destination_errors(new.webhook_url, env, settings)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata)


def _amount_errors(member: str, amount: Any, code: str | None, catalogue: Catalogue) -> Iterator[FieldError]:
    known = catalogue.currencies.get(code or "")
    if minor_of(amount, known) is None:
        yield amount_error(known, member)


async def notify_completed(work: Work, conversion: Conversion, posted: LedgerTransaction) -> None:
    """Record the events of a completed conversion and of the two balances that it changed."""
    made, url = conversion.exchange, conversion.webhook_url
    source = EventSource(SOURCE, conversion.id, conversion.version)
    data = {"object": conversion_view(conversion, work.services.catalogue)}
    await record_event(work, conversion.env, "conversion.completed", source, data, url)
    cause = Cause(SOURCE, conversion.id, conversion.status, conversion.version)
    for currency in (made.from_currency, made.to_currency):
        await notify_balance(work, conversion.env, currency, posted, cause, url)


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
    """Convert by a quote, or at the current rate.

    Raises the errors of `quote`, of quotes, `PriceChanged` and `ConnectionLimitExceeded`.
    """
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
    conversion_id = new_id()
    await spending.spend(work, "conversions", conversion_id, exchange.from_currency, exchange.from_amount_minor)
    # The database checks the quote and the balance again below; any error rolls everything back.
    if quoted is not None:
        await quotes.mark_used(work.tx, store.USE_QUOTE, quoted, work.now)
    conversion = Conversion(
        id=conversion_id,
        env=env,
        exchange=exchange,
        quote_id=new.quote_id,
        rule_id=None,
        rule_step=None,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        metadata=new.metadata or {},
        credential_id=work.actor.credential_id,
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
    posted = await post(work, JournalEntry(env.mode, "conversion_out", Source(SOURCE, conversion.id), postings))
    await notify_completed(work, conversion, posted)
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
    positions = await prices_store.list_positions(tx, sorted(changes))
    if any(position.refuses(changes[code]) for code, position in positions.items()):
        raise PairUnavailable("position_limit")
