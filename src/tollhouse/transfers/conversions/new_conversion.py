"""The bodies of POST /conversions and /conversion-quotes, and their validation."""

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.conversions.errors import PairUnavailable
from tollhouse.transfers.conversions.model import Exchange, PairRate, exchange_to
from tollhouse.transfers.orders.destinations import destination_errors
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, CurrencyNotSupported


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
