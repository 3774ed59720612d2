"""The bodies of POST /withdrawals and /withdrawal-quotes, and everything that can be wrong with them, told at once."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.catalogue.amounts import Amount, amount_fault, minor_of
from tollhouse.catalogue.currencies import CURRENCIES, Currency
from tollhouse.catalogue.provider_fields import fields_faults
from tollhouse.catalogue.withdrawal_methods import WITHDRAWAL_METHODS, FeeMode, WithdrawalMethod
from tollhouse.events.destination import check_destination_url
from tollhouse.http.bodies import RequestFacts
from tollhouse.http.references import reference_faults
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.orders.errors import AmountAboveMaximum
from tollhouse.outgoing import limits
from tollhouse.outgoing.errors import WithdrawalMethodUnavailable
from tollhouse.platform.config import Settings
from tollhouse.rails.configured import rail
from tollhouse.withdrawals.errors import AmountBelowFees, InvalidReceiver
from tollhouse.withdrawals.methods import unavailable_reason
from tollhouse.withdrawals.model import Terms


class NewQuote(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant wants to know the price of. No fee mode: `deduct`, where the method has it."""

    method_id: str
    amount: Amount
    network_fee_mode: FeeMode | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong, as far as nothing is looked up."""
        return _every_fault(self, facts.caller.env, facts.settings)


class NewWithdrawal(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant asks for. With `quote_id` the fees are those of the quote, which must be for the same."""

    method_id: str
    amount: Amount
    receiver: str
    network_fee_mode: FeeMode | None = None
    provider_fields: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    quote_id: UUID | None = None
    webhook_url: str | None = None
    external_id: str | None = None
    description: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong, as far as nothing is looked up."""
        return _every_fault(self, facts.caller.env, facts.settings)


class Asked(Struct, frozen=True):
    """A method of the catalogue, an amount in its currency, and how its fees are taken."""

    method: WithdrawalMethod
    amount_minor: int
    network_fee_mode: FeeMode


def understand(new: NewQuote | NewWithdrawal, env: MerchantEnv, settings: Settings) -> Asked:
    """Raises `ValidationFailed` with every fault, else `WithdrawalMethodUnavailable` for an unknown method."""
    method = WITHDRAWAL_METHODS.get(new.method_id)
    known = None if method is None else CURRENCIES[method.currency]
    amount_minor = minor_of(new.amount, known)
    field_errors = list(_every_fault(new, env, settings))
    if field_errors:
        raise ValidationFailed(*field_errors)
    if method is None:
        raise WithdrawalMethodUnavailable
    if amount_minor is None:
        raise AssertionError("an amount that cannot be read is a fault")
    return Asked(method, amount_minor, new.network_fee_mode or _usual(method))


def refuse_unusable(method: WithdrawalMethod, mode: Mode) -> None:
    """Raises `WithdrawalMethodUnavailable` with the reason."""
    reason = unavailable_reason(method, mode)
    if reason is not None:
        raise WithdrawalMethodUnavailable(reason)


def refuse_receiver(method: WithdrawalMethod, mode: Mode, receiver: str) -> None:
    """Ask the method's rail, which is there. Raises `InvalidReceiver`."""
    provider = rail(method.rail, mode)
    form_errors = None if provider is None else provider.receiver_fault(receiver)
    if form_errors is not None:
        raise InvalidReceiver(form_errors)


def refuse_unfitting(method: WithdrawalMethod, terms: Terms) -> None:
    """The limits are of the amount that is asked for. Raises the refusals of amounts."""
    limits.ensure_amount(method, terms.amount_minor)
    if terms.receive_minor <= 0:
        raise AmountBelowFees(terms.debit_minor - terms.receive_minor)
    if terms.debit_minor > MINOR_MAX:
        raise AmountAboveMaximum(MINOR_MAX)


def _usual(method: WithdrawalMethod) -> FeeMode:
    return "deduct" if "deduct" in method.network_fee_modes else method.network_fee_modes[0]


def _every_fault(new: NewQuote | NewWithdrawal, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    method = WITHDRAWAL_METHODS.get(new.method_id)
    known = None if method is None else CURRENCIES[method.currency]
    yield from _faults(new, method, known, minor_of(new.amount, known))
    if isinstance(new, NewWithdrawal):
        yield from _facts_faults(new, method, env, settings)


def _faults(
    new: NewQuote | NewWithdrawal, method: WithdrawalMethod | None, known: Currency | None, amount_minor: int | None
) -> Iterator[FieldError]:
    if amount_minor is None:
        yield amount_fault(known)
    if method is not None and new.network_fee_mode not in {None, *method.network_fee_modes}:
        yield FieldError("network_fee_mode", "invalid_value", messages.one_of(method.network_fee_modes))


def _facts_faults(
    new: NewWithdrawal, method: WithdrawalMethod | None, env: MerchantEnv, settings: Settings
) -> Iterator[FieldError]:
    if method is not None:
        yield from fields_faults(method.provider_fields, new.provider_fields)
    if new.webhook_url is not None:
        form_errors = check_destination_url(new.webhook_url, livemode=env.livemode, settings=settings)
        if form_errors is not None:
            yield FieldError("webhook_url", "invalid_url", form_errors)
    yield from reference_faults(external_id=new.external_id, metadata=new.metadata, description=new.description)
