"""The bodies of POST /withdrawals and /withdrawal-quotes, and their validation."""

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.kernel import messages
from tollhouse.kernel.bank_codes import is_bic_of, parse_bic, parse_iban
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.provider_fields import fields_errors
from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.text import Text
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.gate.model import WithdrawalMethodUnavailable
from tollhouse.transfers.orders.quotes import destination_errors
from tollhouse.transfers.withdrawals.model import WithdrawalTerms, terms_of

OF_THE_TRANSFER = frozenset({"reference"})
"""The provider fields that describe one transfer and not its recipient."""


class NewWithdrawalQuote(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The amount and method to quote. The fee mode defaults to `deduct` where the method has it."""

    method_id: str
    amount: Annotated[Amount, example("4.20")]
    network_fee_mode: FeeMode | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return field_errors_of(self, context.caller.env, context.settings, context.catalogue)


class NewWithdrawal(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A withdrawal to create. With `quote_id` the fees are those of the quote, whose method and amount must be the same.

    It has either a `receiver`, or the `recipient_id` of a saved one. `provider_fields` then has only what belongs to the
    transfer, such as `reference`.
    """

    method_id: str
    amount: Amount
    receiver: Annotated[str | None, example("Nina Nowak")] = None
    recipient_id: UUID | None = None
    network_fee_mode: FeeMode | None = None
    provider_fields: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    quote_id: UUID | None = None
    webhook_url: Annotated[str | None, example("https://shop.example/hooks/tollhouse")] = None
    external_id: str | None = None
    description: str | None = None
    """Your own note."""
    metadata: dict[str, str] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return field_errors_of(self, context.caller.env, context.settings, context.catalogue)


def parse(
    new: NewWithdrawalQuote | NewWithdrawal, env: MerchantEnv, settings: Settings, catalogue: Catalogue
) -> tuple[WithdrawalMethod, WithdrawalTerms]:
    """The method and the current terms. Raises `ValidationFailed` with every error, then `WithdrawalMethodUnavailable`."""
    field_errors = list(field_errors_of(new, env, settings, catalogue))
    if field_errors:
        raise ValidationFailed(*field_errors)
    method = catalogue.withdrawal_methods.get(new.method_id)
    if method is None:
        raise WithdrawalMethodUnavailable
    amount_minor = minor_of(new.amount, catalogue.currencies[method.currency])
    if amount_minor is None:
        raise AssertionError("an unreadable amount is a field error")
    return method, terms_of(method, amount_minor, new.network_fee_mode or method.default_fee_mode)


def field_errors_of(
    new: NewWithdrawalQuote | NewWithdrawal, env: MerchantEnv, settings: Settings, catalogue: Catalogue
) -> Iterator[FieldError]:
    """Every field error that needs no lookup."""
    method = catalogue.withdrawal_methods.get(new.method_id)
    currency = None if method is None else catalogue.currencies[method.currency]
    if minor_of(new.amount, currency) is None:
        yield amount_error(currency)
    if method is not None and new.network_fee_mode not in {None, *method.network_fee_modes}:
        yield FieldError("network_fee_mode", "invalid_value", messages.one_of(method.network_fee_modes))
    if isinstance(new, NewWithdrawal):
        yield from _receiver_errors(new, method)
        yield from destination_errors(new.webhook_url, env, settings)
        yield from reference_errors(external_id=new.external_id, metadata=new.metadata, description=new.description)


def _receiver_errors(new: NewWithdrawal, method: WithdrawalMethod | None) -> Iterator[FieldError]:
    if new.recipient_id is None and new.receiver is None:
        yield FieldError("receiver", "missing", messages.REQUIRED)
    if new.recipient_id is None and method is not None:
        yield from fields_errors(method.provider_fields, new.provider_fields)
        yield from bic_errors(method, new.receiver or "", new.provider_fields.get("bic"))
    if new.recipient_id is not None:
        of_recipient = [f"provider_fields.{member}" for member in new.provider_fields.keys() - OF_THE_TRANSFER]
        for member in ["receiver", *of_recipient] if new.receiver is not None else of_recipient:
            yield FieldError(member, "invalid_value", messages.OF_A_RECIPIENT)


def bic_errors(method: WithdrawalMethod, receiver: str, bic: object) -> Iterator[FieldError]:
    """The bank must be one of the country of the account."""
    iban = parse_iban(receiver) if method.receiver_type == "iban" else None
    if iban is None or not isinstance(bic, str) or parse_bic(bic) != bic or is_bic_of(bic, iban):
        return
    message = Text(
        "The bank is in %(country)s and the account in %(other)s. Check the BIC.", country=bic[4:6], other=iban[:2]
    )
    yield FieldError("provider_fields.bic", "invalid_value", message)
