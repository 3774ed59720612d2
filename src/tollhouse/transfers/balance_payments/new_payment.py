"""The bodies of requests about balance payments, and their validation."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.kernel import limits
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of, optional_amount_errors
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example


class NewBalancePayment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A payment to make. With `capture` false the amount is only reserved, for at most `expires_in` seconds.

    `oauth_client_id` names the application whose owner is paid: required with an API key, implied by an access token.
    """

    amount: Amount
    currency: str
    capture: Annotated[bool, example(False)] = True
    expires_in: Annotated[int, Meta(ge=limits.RESERVATION_S_MIN, le=limits.RESERVATION_S_MAX)] | None = None
    description: Annotated[
        Annotated[str, Meta(max_length=limits.BALANCE_PAYMENT_DESCRIPTION_CHARS_MAX)] | None, example("Stall 7")
    ] = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None
    oauth_client_id: str | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.caller, context.catalogue)


class PartialAmount(Struct, frozen=True, forbid_unknown_fields=True):
    """The amount to capture or refund. Omitted: all of it."""

    amount: Annotated[Amount, example("4.20")] = None

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """The errors that do not depend on the currency."""
        return optional_amount_errors(self.amount)


def parse(new: NewBalancePayment, caller: Caller, catalogue: Catalogue) -> tuple[Currency | None, int]:
    """The currency, None for an unknown code, and the amount in minor units. Raises `ValidationFailed` with every error."""
    known = catalogue.currencies.get(new.currency)
    amount_minor = minor_of(new.amount, known)
    field_errors = list(_field_errors(new, caller, catalogue))
    if field_errors or amount_minor is None:
        raise ValidationFailed(*field_errors)
    return known, amount_minor


def minor_of_part(part: PartialAmount, code: str, catalogue: Catalogue) -> int | None:
    """The amount in minor units; None for all of it. Raises `ValidationFailed`."""
    if part.amount is None:
        return None
    amount_minor = minor_of(part.amount, catalogue.currencies[code])
    if amount_minor is None:
        raise ValidationFailed(amount_error(catalogue.currencies[code]))
    return amount_minor


def _field_errors(new: NewBalancePayment, caller: Caller, catalogue: Catalogue) -> Iterator[FieldError]:
    known = catalogue.currencies.get(new.currency)
    if minor_of(new.amount, known) is None:
        yield amount_error(known)
    if new.capture and new.expires_in is not None:
        yield FieldError("expires_in", "not_applicable", "Omit this member unless capture is false.")
    yield from _application_errors(new, caller)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata, description=new.description)


def _application_errors(new: NewBalancePayment, caller: Caller) -> Iterator[FieldError]:
    if caller.client_id is None and new.oauth_client_id is None:
        yield FieldError(
            "oauth_client_id",
            "missing",
            "With an API key, this must be the client ID of the application whose owner is paid.",
        )
    if caller.client_id is not None and new.oauth_client_id not in {None, caller.client_id}:
        yield FieldError(
            "oauth_client_id", "invalid_value", "This must be the application of the access token. You can omit it."
        )
