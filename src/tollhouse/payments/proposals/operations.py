"""The operations that can be proposed: how each checks its body when it is proposed, and runs once it is approved.

A check refuses what could never run, by the errors of the operation itself. Balances, rates and limits may change until the
merchant decides; they are checked when it runs.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.model import Caller, MissingScope, Person
from tollhouse.http.bodies import ValidationContext, decode_body
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.payments.proposals.model import Proposal, ProposalOperation
from tollhouse.payments.refunds import actions as refunds
from tollhouse.payments.refunds import new_refund
from tollhouse.payments.refunds.new_refund import NewRefund
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.transfers.balance_payments import actions as balance_payments
from tollhouse.transfers.balance_payments import model as balance_payments_model
from tollhouse.transfers.balance_payments.model import NewBalancePayment, SelfPayment
from tollhouse.transfers.conversions import actions as conversions
from tollhouse.transfers.conversions.actions import NewConversion
from tollhouse.transfers.fulfillments import actions as fulfillments
from tollhouse.transfers.fulfillments.actions import NewFulfillment
from tollhouse.transfers.gate import gate, recipients_store
from tollhouse.transfers.orders.errors import CurrencyNotSupported
from tollhouse.transfers.withdrawals import acceptance, new_withdrawal
from tollhouse.transfers.withdrawals import actions as withdrawals
from tollhouse.transfers.withdrawals.acceptance import Payee
from tollhouse.transfers.withdrawals.model import mask
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

NO_SUCH = "There is none with this ID in this environment."
NO_QUOTE = "A quote ends before a merchant can decide. Omit it; the costs and the rate are those of the approval."


class ProposedRefund(NewRefund, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of a refund that is proposed. `transaction_id` is the payment."""

    transaction_id: UUID
    """ID of the payment to refund."""


class ProposedAmount(Struct, frozen=True):
    """What a proposal is about. No amount: all that is left of a payment. `receiver` is masked; empty for the payer."""

    currency: str
    amount_minor: int | None
    receiver: str = ""


class ProposableOperation(Struct, frozen=True):
    """An operation: its scope, the type of its body, and how it is checked and run by a caller."""

    scope: str
    body: type[Any]
    check: Callable[[Work, Caller, Any], Awaitable[ProposedAmount]]
    run: Callable[[Work, Caller, Any], Awaitable[UUID]]


def parse_body(operation: ProposalOperation, body: Mapping[str, Any], context: ValidationContext | None = None) -> Any:
    """The body of the operation. With a context its rules are checked. Raises `ValidationFailed`, `body.` before fields."""
    try:
        parsed = decode_body(dict(body), OPERATIONS[operation].body, context, always_check_rules=context is not None)
    except ValidationFailed as error:
        raise within_body(error) from None
    if context is not None and getattr(parsed, "quote_id", None) is not None:
        raise ValidationFailed(FieldError("body.quote_id", "not_applicable", NO_QUOTE))
    return parsed


def within_body(error: ApiError) -> ApiError:
    """The error of an operation, with its fields as members of `body`."""
    error.field_errors = tuple(
        msgspec.structs.replace(field_error, field=f"body.{field_error.field}" if field_error.field else "body")
        for field_error in error.field_errors
    )
    return error


async def _check_withdrawal(work: Work, caller: Caller, new: NewWithdrawal) -> ProposedAmount:
    services, env = work.services, caller.env
    method, terms = new_withdrawal.parse(new, env, services.settings, services.catalogue)
    payee, name = Payee(new.receiver or "", new.provider_fields), ""
    if new.recipient_id is not None:
        try:
            saved = await recipients_store.get(work.tx, env, new.recipient_id)
        except NotFound:
            raise _unknown("recipient_id") from None
        if saved.method_id != method.method_id:
            raise ValidationFailed(FieldError("method_id", "recipient_mismatch", messages.METHOD_OF_RECIPIENT))
        payee, name = Payee(saved.receiver, saved.provider_fields, saved.id), f"{saved.name}, "
    acceptance.ensure_payable(services, env, payee, method, terms)
    return ProposedAmount(method.currency, terms.amount_minor, name + mask(payee.receiver, method.receiver_type))


async def _check_refund(work: Work, caller: Caller, new: ProposedRefund) -> ProposedAmount:
    rails, catalogue = work.services.rails, work.services.catalogue
    try:
        payment = await transaction_store.get(work.tx, caller.env, new.transaction_id)
    except NotFound:
        raise _unknown("transaction_id") from None
    currency = catalogue.currencies[payment.currency]
    amount_minor = new_refund.check(new, currency, rails.find(payment.rail, caller.env.mode))
    obstacle = new_refund.find_obstacle(payment, rails, work.now, catalogue)
    if obstacle is not None:
        raise obstacle
    target = await new_refund.destination(work.tx, payment, new, rails, catalogue, by=caller)
    if target.is_payer:
        return ProposedAmount(payment.currency, amount_minor)
    method = gate.method_of(payment.rail, payment.currency, catalogue)
    return ProposedAmount(
        payment.currency, amount_minor, mask(target.account, "iban" if method is None else method.receiver_type)
    )


async def _check_balance_payment(work: Work, caller: Caller, new: NewBalancePayment) -> ProposedAmount:
    currency, amount_minor = balance_payments_model.parse(new, caller, work.services.catalogue)
    try:
        application = await balance_payments.payee_application(work.tx, caller, new, work.now)
    except NotFound:
        raise _unknown("oauth_client_id") from None
    if currency is None or not currency.balance_payment_supported:
        raise CurrencyNotSupported
    if application.owner_id == caller.env.merchant_id:
        raise SelfPayment
    return ProposedAmount(currency.code, amount_minor, application.name)


async def _check_conversion(work: Work, caller: Caller, new: NewConversion) -> ProposedAmount:
    amount = conversions.parse(new, caller.env, work.services.settings, work.services.catalogue)
    if amount is None:
        raise AssertionError("a proposal has no quote")
    return ProposedAmount(amount.pair.from_currency, amount.from_amount_minor, amount.pair.to_currency)


async def _check_fulfillment(work: Work, caller: Caller, new: NewFulfillment) -> ProposedAmount:
    product = fulfillments.parse(new, caller.env, work.services.settings, work.services.catalogue)
    fulfillments.ensure_available(new, product, caller.env, work.services.catalogue)
    return ProposedAmount(product.currency, product.unit_price_minor * new.quantity, product.product_id)


async def _withdraw(work: Work, caller: Caller, new: NewWithdrawal) -> UUID:
    return (await withdrawals.request(work, caller.env, new)).id


async def _refund(work: Work, caller: Caller, new: ProposedRefund) -> UUID:
    refund, _ = await refunds.request(work, caller.env, new.transaction_id, new, by=caller)
    return refund.id


async def _pay(work: Work, caller: Caller, new: NewBalancePayment) -> UUID:
    return (await balance_payments.pay(work, caller, new)).id


async def _convert(work: Work, caller: Caller, new: NewConversion) -> UUID:
    return (await conversions.convert(work, caller.env, new)).id


async def _order(work: Work, caller: Caller, new: NewFulfillment) -> UUID:
    return (await fulfillments.order(work, caller.env, new)).id


def _unknown(member: str) -> ValidationFailed:
    return ValidationFailed(FieldError(member, "unknown", NO_SUCH))


OPERATIONS: Mapping[ProposalOperation, ProposableOperation] = {
    "withdrawals": ProposableOperation("withdrawals:write", NewWithdrawal, _check_withdrawal, _withdraw),
    "refunds": ProposableOperation("payments:write", ProposedRefund, _check_refund, _refund),
    "balance_payments": ProposableOperation("balance-payments:write", NewBalancePayment, _check_balance_payment, _pay),
    "conversions": ProposableOperation("conversions:write", NewConversion, _check_conversion, _convert),
    "fulfillments": ProposableOperation("fulfillments:write", NewFulfillment, _check_fulfillment, _order),
}
SCOPES = tuple(operation.scope for operation in OPERATIONS.values())


def require_scope(caller: Caller, operation: ProposalOperation) -> None:
    """Raises `MissingScope` without the write scope of the operation."""
    needed = OPERATIONS[operation].scope
    if needed not in caller.scopes:
        raise MissingScope(caller, needed)


def require_role(person: Person, proposal: Proposal) -> None:
    """Raises `RoleForbidden` unless the role of who decides may do what is proposed."""
    is_refund = proposal.operation == "refunds" and proposal.body.get("receiver") is None
    person.require("refunds" if is_refund else "money", proposal.env.mode)
