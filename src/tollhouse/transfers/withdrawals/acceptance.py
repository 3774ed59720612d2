"""Whether a withdrawal can be made now: its payee, the method and its rail, the receiver, the amount and the balance."""

from typing import Any
from uuid import UUID

from msgspec import Struct

from tollhouse.http.services import Services, Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.provider_fields import fields_errors
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.rails.registry import Rails
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.gate import gate, recipients_store
from tollhouse.transfers.gate.model import RecipientNotActive, WithdrawalMethodUnavailable
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowFees
from tollhouse.transfers.orders.quotes import ensure_funds
from tollhouse.transfers.orders.store import clock_offset, ensure_external_id_unused
from tollhouse.transfers.withdrawals import store
from tollhouse.transfers.withdrawals.model import InvalidReceiver, WithdrawalTerms, terms_of, unavailable_reason
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal, field_errors_of


class Payee(Struct, frozen=True):
    """Who is paid: as the request says, or as a saved recipient has it."""

    receiver: str
    provider_fields: dict[str, Any]
    recipient_id: UUID | None = None


async def payee_of(work: Work, env: MerchantEnv, new: NewWithdrawal, method: WithdrawalMethod) -> Payee:
    """Return who is to be paid. Raises `NotFound`, `ValidationFailed` and `RecipientNotActive` for a saved recipient."""
    if new.recipient_id is None:
        return Payee(new.receiver or "", new.provider_fields)
    saved = await recipients_store.get(work.tx, env, new.recipient_id)
    if saved.method_id != method.method_id:
        raise ValidationFailed(FieldError("method_id", "recipient_mismatch", messages.METHOD_OF_RECIPIENT))
    if saved.active_at > work.now + await clock_offset(work.tx, env):
        raise RecipientNotActive(saved.active_at)
    fields = saved.provider_fields | new.provider_fields
    if field_errors := list(fields_errors(method.provider_fields, fields)):
        raise ValidationFailed(*field_errors)
    return Payee(saved.receiver, fields, saved.id)


async def ensure_acceptable(
    work: Work, env: MerchantEnv, new: NewWithdrawal, payee: Payee, method: WithdrawalMethod, terms: WithdrawalTerms
) -> None:
    """Raises `DuplicateExternalId`, `InsufficientFunds`, and the errors of methods, receivers and amounts."""
    await ensure_external_id_unused(work.tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
    ensure_payable(work.services, env, payee, method, terms)
    await ensure_funds(work.tx, env, terms.currency, terms.debit_minor)


def ensure_payable(
    services: Services, env: MerchantEnv, payee: Payee, method: WithdrawalMethod, terms: WithdrawalTerms
) -> None:
    """Raises the errors of methods, receivers and amounts."""
    ensure_method_available(method, env.mode, services.rails, services.catalogue)
    ensure_receiver(method, env.mode, payee.receiver, services.rails)
    ensure_limits(method, terms)


def ensure_method_available(method: WithdrawalMethod, mode: Mode, rails: Rails, catalogue: Catalogue) -> None:
    """Raises `WithdrawalMethodUnavailable` with the reason."""
    reason = unavailable_reason(method, mode, rails, catalogue)
    if reason is not None:
        raise WithdrawalMethodUnavailable(reason)


def ensure_receiver(method: WithdrawalMethod, mode: Mode, receiver: str, rails: Rails) -> None:
    """Validate the receiver by the method's rail. Raises `InvalidReceiver`."""
    provider = rails.find(method.rail, mode)
    reason = None if provider is None else provider.receiver_error(receiver)
    if reason is not None:
        raise InvalidReceiver(reason)


def ensure_limits(method: WithdrawalMethod, terms: WithdrawalTerms) -> None:
    """Raises `AmountBelowMinimum`, `AmountAboveMaximum` and `AmountBelowFees`."""
    gate.ensure_amount(method, terms.amount_minor)
    if terms.receive_minor <= 0:
        raise AmountBelowFees(terms.debit_minor - terms.receive_minor)
    if terms.debit_minor > MINOR_MAX:
        raise AmountAboveMaximum(MINOR_MAX)


def account_of(rails: Rails, method: WithdrawalMethod, env: MerchantEnv, receiver: str) -> str:
    """The receiver in the notation of the method's rail."""
    provider = rails.find(method.rail, env.mode)
    return receiver if provider is None else provider.account_of(receiver)


def list_errors(
    new: NewWithdrawal, method: WithdrawalMethod, env: MerchantEnv, settings: Settings, rails: Rails, catalogue: Catalogue
) -> list[FieldError]:
    """Every error of a withdrawal that a form can show at its fields at once, one for each field."""
    found = list(field_errors_of(new, env, settings, catalogue))
    if new.receiver is not None:
        try:
            ensure_receiver(method, env.mode, new.receiver, rails)
        except InvalidReceiver as error:
            found += error.field_errors
    amount_minor = minor_of(new.amount, catalogue.currencies[method.currency])
    fee_mode = new.network_fee_mode or method.default_fee_mode
    if amount_minor is not None and fee_mode in method.network_fee_modes:
        try:
            ensure_limits(method, terms_of(method, amount_minor, fee_mode))
        except ApiError as error:
            found.append(FieldError("amount", error.code, error.message))
    return list({field_error.field: field_error for field_error in reversed(found)}.values())[::-1]
