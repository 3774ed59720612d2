"""The bodies of POST /conversions and /conversion-quotes, and their validation."""

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.catalogue.conversion_pairs import ConversionPair, pair
from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.conversions.errors import PairUnavailable
from tollhouse.conversions.model import Exchange, PairRate, exchange_to
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.references import reference_errors
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.orders.destinations import destination_errors
from tollhouse.orders.errors import AmountAboveMaximum, AmountBelowMinimum, CurrencyNotSupported
from tollhouse.platform.config import Settings


class NewConversionQuote(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A pair and either the amount to convert or the amount to receive."""

    from_currency: str
    to_currency: str
    amount: Annotated[Amount, example("4.20")] = None
    to_amount: Amount = None

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _quote_errors(self)


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
        return _conversion_errors(self, context.caller.env, context.settings)


class ConversionAmount(Struct, frozen=True):
    """A pair and one of the two amounts; `minimum_minor` is the lowest acceptable amount to receive."""

    pair: ConversionPair
    from_amount_minor: int | None = None
    to_amount_minor: int | None = None
    minimum_minor: int = 0


def parse_quote(new: NewConversionQuote) -> ConversionAmount:
    """The pair and amount to quote. Raises `ValidationFailed` with every error, then `CurrencyNotSupported`."""
    if field_errors := list(_quote_errors(new)):
        raise ValidationFailed(*field_errors)
    from_minor = minor_of(new.amount, CURRENCIES[new.from_currency])
    to_minor = minor_of(new.to_amount, CURRENCIES[new.to_currency])
    return ConversionAmount(pair_of(new.from_currency, new.to_currency), from_minor, to_minor)


def parse(new: NewConversion, env: MerchantEnv, settings: Settings) -> ConversionAmount | None:
    """The pair and amount to convert; None with a quote. Raises as `parse_quote`."""
    if field_errors := list(_conversion_errors(new, env, settings)):
        raise ValidationFailed(*field_errors)
    if new.quote_id is not None:
        return None
    source, target = new.from_currency or "", new.to_currency or ""
    minimum_minor = minor_of(new.min_to_amount, CURRENCIES[target])
    return ConversionAmount(pair_of(source, target), minor_of(new.amount, CURRENCIES[source]), None, minimum_minor or 0)


def currency_errors(source: str, target: str) -> Iterator[FieldError]:
    """The errors of two currencies as a pair."""
    for member, code in (("from_currency", source), ("to_currency", target)):
        if code not in CURRENCIES:
            yield FieldError(member, "invalid_currency", messages.A_CURRENCY)
    if source == target:
        yield FieldError("to_currency", "same_currency", "This must differ from from_currency.")


def pair_of(source: str, target: str) -> ConversionPair:
    """The pair of two known currencies. Raises `CurrencyNotSupported`."""
    members = {"from_currency": source, "to_currency": target}
    if unsupported := [member for member, code in members.items() if not CURRENCIES[code].operations.conversions]:
        raise CurrencyNotSupported(*unsupported)
    return pair(source, target)


def ensure_pair_available(current: PairRate) -> None:
    """Raises `PairUnavailable` with the reason."""
    if current.unavailable_reason is not None:
        raise PairUnavailable(current.unavailable_reason)


def ensure_limits(pair: ConversionPair, exchange: Exchange) -> None:
    """Raises `AmountBelowMinimum` and `AmountAboveMaximum`."""
    if exchange.from_amount_minor < pair.minimum_minor:
        raise AmountBelowMinimum(pair.minimum_minor)
    if exchange.to_amount_minor <= 0 or exchange.fee_minor >= exchange.from_amount_minor:
        raise AmountBelowMinimum(max(pair.minimum_minor, exchange_to(pair, exchange.rate, 1).from_amount_minor))
    maximum_minor = MINOR_MAX if pair.maximum_minor is None else pair.maximum_minor
    if exchange.from_amount_minor > maximum_minor or exchange.to_amount_minor > MINOR_MAX:
        raise AmountAboveMaximum(maximum_minor)


def _quote_errors(new: NewConversionQuote) -> Iterator[FieldError]:
    yield from currency_errors(new.from_currency, new.to_currency)
    if (new.amount is None) == (new.to_amount is None):
        yield FieldError("amount", "invalid_value", "Send either amount or to_amount.")
    elif new.amount is not None:
        yield from _amount_errors("amount", new.amount, new.from_currency)
    else:
        yield from _amount_errors("to_amount", new.to_amount, new.to_currency)


def _conversion_errors(new: NewConversion, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    if new.quote_id is None:
        yield from currency_errors(new.from_currency or "", new.to_currency or "")
        yield from _amount_errors("amount", new.amount, new.from_currency)
        if new.min_to_amount is not None:
            yield from _amount_errors("min_to_amount", new.min_to_amount, new.to_currency)
    else:
        for member in ("from_currency", "to_currency", "amount", "min_to_amount"):
            if getattr(new, member) is not None:
                yield FieldError(member, "not_with_quote", "Omit this member: the quote determines it.")
    yield from destination_errors(new.webhook_url, env, settings)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata)


def _amount_errors(member: str, amount: Any, code: str | None) -> Iterator[FieldError]:
    known = CURRENCIES.get(code or "")
    if minor_of(amount, known) is None:
        yield amount_error(known, member)
