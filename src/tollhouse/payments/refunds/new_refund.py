"""The body of POST /transactions/{id}/refunds and its validation."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct

from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of, optional_amount_errors
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.rails.provider import Provider
from tollhouse.payments.transactions.model import RefundReason


class NewRefund(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The request body. No amount: all that is left. No receiver: the account that paid."""

    amount: Annotated[Amount, example("4.20")] = None
    reason: Annotated[RefundReason, example("customer_request")] = "customer_request"
    receiver: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """Yield the invalid fields that do not depend on the payment."""
        yield from optional_amount_errors(self.amount)
        yield from reference_errors(external_id=self.external_id, metadata=self.metadata)


def check(new: NewRefund, currency: Currency, provider: Provider | None) -> int | None:
    """The amount in minor units; None for all that is left. Raises `ValidationFailed` with every invalid field."""
    amount_minor = minor_of(new.amount, currency)
    field_errors = [
        *_errors(new, currency, amount_minor, provider),
        *reference_errors(external_id=new.external_id, metadata=new.metadata),
    ]
    if field_errors:
        raise ValidationFailed(*field_errors)
    return amount_minor


def _errors(new: NewRefund, currency: Currency, amount_minor: int | None, provider: Provider | None) -> Iterator[FieldError]:
    if new.amount is not None and amount_minor is None:
        yield amount_error(currency)
    form_errors = provider.receiver_error(new.receiver) if provider is not None and new.receiver is not None else None
    if form_errors is not None:
        yield FieldError("receiver", "invalid_value", form_errors)
