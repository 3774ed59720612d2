"""The bodies of POST /conversions and /conversion-quotes, and everything that can be wrong with them, told at once."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import Amount, amount_fault, minor_of
from tollhouse.catalogue.conversion_pairs import ConversionPair, pair
from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.conversions.errors import PairUnavailable
from tollhouse.conversions.model import Exchange, getting
from tollhouse.conversions.prices import Offer
from tollhouse.events.destination import check_destination_url
from tollhouse.http.bodies import RequestFacts
from tollhouse.http.references import reference_faults
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.orders.errors import AmountAboveMaximum, AmountBelowMinimum, CurrencyNotSupported
from tollhouse.platform.config import Settings


class NewQuote(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant wants to know the price of: what comes of an amount, or what an amount takes."""

    from_currency: str
    to_currency: str
    amount: Amount = None
    to_amount: Amount = None

    def rule_errors(self, _facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong."""
        return _quote_faults(self)


class NewConversion(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant asks for: a quote to be kept to, or two currencies and an amount at the price of now."""

    quote_id: UUID | None = None
    from_currency: str | None = None
    to_currency: str | None = None
    amount: Amount = None
    min_to_amount: Amount = None
    webhook_url: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong."""
        return _conversion_faults(self, facts.caller.env, facts.settings)


class Asked(Struct, frozen=True):
    """A pair and one of the two amounts; `minimum_minor` is the least that must be got."""

    pair: ConversionPair
    from_amount_minor: int | None = None
    to_amount_minor: int | None = None
    minimum_minor: int = 0


def understand_quote(new: NewQuote) -> Asked:
    """What is asked for. Raises `ValidationFailed` with every fault, else `CurrencyNotSupported`."""
    if field_errors := list(_quote_faults(new)):
        raise ValidationFailed(*field_errors)
    from_minor = minor_of(new.amount, CURRENCIES[new.from_currency])
    to_minor = minor_of(new.to_amount, CURRENCIES[new.to_currency])
    return Asked(pair_of(new.from_currency, new.to_currency), from_minor, to_minor)


def understand(new: NewConversion, env: MerchantEnv, settings: Settings) -> Asked | None:
    """What is asked for; None where the quote says it. Raises as above."""
    if field_errors := list(_conversion_faults(new, env, settings)):
        raise ValidationFailed(*field_errors)
    if new.quote_id is not None:
        return None
    given, got = new.from_currency or "", new.to_currency or ""
    least_minor = minor_of(new.min_to_amount, CURRENCIES[got])
    return Asked(pair_of(given, got), minor_of(new.amount, CURRENCIES[given]), None, least_minor or 0)


def currency_faults(given: str, got: str) -> Iterator[FieldError]:
    """What is wrong with two currencies that are to be converted."""
    for member, code in (("from_currency", given), ("to_currency", got)):
        if code not in CURRENCIES:
            yield FieldError(member, "invalid_currency", messages.A_CURRENCY)
    if given == got:
        yield FieldError("to_currency", "same_currency", "This must be a different currency than from_currency.")


def pair_of(given: str, got: str) -> ConversionPair:
    """The pair of two currencies that there are. Raises `CurrencyNotSupported`."""
    members = {"from_currency": given, "to_currency": got}
    if not_these := [member for member, code in members.items() if not CURRENCIES[code].operations.conversions]:
        raise CurrencyNotSupported(*not_these)
    return pair(given, got)


def refuse_unusable(offer: Offer) -> None:
    """Raises `PairUnavailable` with the reason."""
    if offer.unavailable_reason is not None:
        raise PairUnavailable(offer.unavailable_reason)


def refuse_unfitting(pair: ConversionPair, exchange: Exchange) -> None:
    """Raises the refusals of amounts."""
    if exchange.from_amount_minor < pair.minimum_minor:
        raise AmountBelowMinimum(pair.minimum_minor)
    if exchange.to_amount_minor <= 0 or exchange.fee_minor >= exchange.from_amount_minor:
        raise AmountBelowMinimum(max(pair.minimum_minor, getting(pair, exchange.rate, 1).from_amount_minor))
    highest_minor = MINOR_MAX if pair.maximum_minor is None else pair.maximum_minor
    if exchange.from_amount_minor > highest_minor or exchange.to_amount_minor > MINOR_MAX:
        raise AmountAboveMaximum(highest_minor)


def _quote_faults(new: NewQuote) -> Iterator[FieldError]:
    yield from currency_faults(new.from_currency, new.to_currency)
    if (new.amount is None) == (new.to_amount is None):
        yield FieldError("amount", "invalid_value", "This or to_amount must be sent, but not both.")
    elif new.amount is not None:
        yield from _amount_faults("amount", new.amount, new.from_currency)
    else:
        yield from _amount_faults("to_amount", new.to_amount, new.to_currency)


def _conversion_faults(new: NewConversion, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    if new.quote_id is None:
        yield from currency_faults(new.from_currency or "", new.to_currency or "")
        yield from _amount_faults("amount", new.amount, new.from_currency)
        if new.min_to_amount is not None:
            yield from _amount_faults("min_to_amount", new.min_to_amount, new.to_currency)
    else:
        for member in ("from_currency", "to_currency", "amount", "min_to_amount"):
            if getattr(new, member) is not None:
                yield FieldError(member, "not_with_quote", "This must be left out if quote_id is sent: the quote sets it.")
    yield from destination_faults(new.webhook_url, env, settings)
    yield from reference_faults(external_id=new.external_id, metadata=new.metadata)


def _amount_faults(member: str, amount: Any, code: str | None) -> Iterator[FieldError]:
    known = CURRENCIES.get(code or "")
    if minor_of(amount, known) is None:
        yield amount_fault(known, member)


def destination_faults(webhook_url: str | None, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    """What is wrong with an address for events."""
    if webhook_url is not None:
        form_errors = check_destination_url(webhook_url, livemode=env.livemode, settings=settings)
        if form_errors is not None:
            yield FieldError("webhook_url", "invalid_url", form_errors)
