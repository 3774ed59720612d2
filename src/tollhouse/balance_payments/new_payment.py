"""The bodies of requests about balance payments, and everything that can be wrong with them, told at once."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from tollhouse.catalogue.amounts import Amount, amount_fault, minor_of, optional_amount_faults
from tollhouse.catalogue.currencies import CURRENCIES, Currency, currency
from tollhouse.http.bodies import RequestFacts
from tollhouse.http.references import reference_faults
from tollhouse.identity.model import Caller
from tollhouse.kernel import limits
from tollhouse.kernel.errors import FieldError, ValidationFailed


class NewBalancePayment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an application asks for. `capture` false only sets the money aside, for `expires_in` seconds at most.

    `oauth_client_id` says with an API key which application is paid; a token says it by itself.
    """

    amount: Amount
    currency: str
    capture: bool = True
    expires_in: Annotated[int, Meta(ge=limits.RESERVATION_S_MIN, le=limits.RESERVATION_S_MAX)] | None = None
    description: Annotated[str, Meta(max_length=limits.BALANCE_PAYMENT_DESCRIPTION_CHARS_MAX)] | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None
    oauth_client_id: str | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong, as far as nothing is looked up."""
        return _faults(self, facts.caller)


class PartialAmount(Struct, frozen=True, forbid_unknown_fields=True):
    """How much to capture or to refund. No amount: everything."""

    amount: Amount = None

    def rule_errors(self, _facts: RequestFacts) -> Iterator[FieldError]:
        """What is wrong whatever the currency is."""
        return optional_amount_faults(self.amount)


class Priced(Struct, frozen=True):
    """The amount of a payment, understood. No currency: there is none of that code."""

    currency: Currency | None
    amount_minor: int


def check(new: NewBalancePayment, caller: Caller) -> Priced:
    """The price of an acceptable payment. Raises `ValidationFailed` with every fault."""
    known = currency(new.currency)
    amount_minor = minor_of(new.amount, known)
    field_errors = list(_faults(new, caller))
    if field_errors or amount_minor is None:
        raise ValidationFailed(*field_errors)
    return Priced(known, amount_minor)


def part_of(part: PartialAmount, code: str) -> int | None:
    """The amount in minor units, None where everything is meant. Raises `ValidationFailed`."""
    if part.amount is None:
        return None
    amount_minor = minor_of(part.amount, CURRENCIES[code])
    if amount_minor is None:
        raise ValidationFailed(amount_fault(CURRENCIES[code]))
    return amount_minor


def _faults(new: NewBalancePayment, caller: Caller) -> Iterator[FieldError]:
    known = currency(new.currency)
    if minor_of(new.amount, known) is None:
        yield amount_fault(known)
    yield from _reservation_faults(new)
    yield from _application_faults(new, caller)
    yield from reference_faults(external_id=new.external_id, metadata=new.metadata, description=new.description)


def _reservation_faults(new: NewBalancePayment) -> Iterator[FieldError]:
    if new.capture and new.expires_in is not None:
        yield FieldError("expires_in", "not_applicable", "This must be left out unless capture is false.")


def _application_faults(new: NewBalancePayment, caller: Caller) -> Iterator[FieldError]:
    if caller.client_id is None and new.oauth_client_id is None:
        yield FieldError(
            "oauth_client_id", "missing", "This is required with an API key: it names the application that is paid."
        )
    if caller.client_id is not None and new.oauth_client_id not in {None, caller.client_id}:
        yield FieldError(
            "oauth_client_id", "invalid_value", "This must be the application of the access token, or be left out."
        )
