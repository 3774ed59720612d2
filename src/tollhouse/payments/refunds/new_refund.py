"""A new refund: the body of POST /transactions/{id}/refunds, and what it would do.

Whether a payment can be refunded, to which account (the payer's, or, after a review, another), what the network takes, and
the least amount that is worth it.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.model import Caller, MissingScope
from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of, optional_amount_errors
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.kernel.rails.provider import Payer, Provider
from tollhouse.kernel.rails.registry import Rails
from tollhouse.payments.links.model import MethodUnavailable
from tollhouse.payments.transactions import priced
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import REFUNDABLE, REFUNDS_MAX, NotRefundable, RefundReason, Transaction
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions import prices
from tollhouse.transfers.conversions.model import Exchange, exchange_from, rate_between
from tollhouse.transfers.gate import gate
from tollhouse.transfers.orders.errors import AmountBelowFees, AmountBelowMinimum, RefundTooLarge
from tollhouse.transfers.orders.quotes import ensure_funds

SCOPE_FOR_OTHER_RECEIVERS = "withdrawals:write"
WINDOW = timedelta(days=180)
"""How long after its success a payment can be refunded."""
FLOOR_IN_FEES = 5


class NewRefund(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The request body. No amount: all that is left. No receiver: the account that paid."""

    amount: Annotated[Amount, example("4.20")] = None
    reason: Annotated[RefundReason, example("customer_request")] = "customer_request"
    """Why you refund the payment."""
    receiver: str | None = None
    """Account to refund to. If omitted, the money goes to the account that paid."""
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


class RefundNotAllowed(ApiError):
    """422: this payment cannot be refunded; `details.reason` is the reason."""

    code, status = "refund_not_allowed", 422
    message = "This payment cannot be refunded."
    solution = "Read `details.reason` and return the money in another way."

    def __init__(self, reason: NotRefundable) -> None:
        super().__init__(members={"details": {"reason": reason}})
        self.reason = reason


class ReceiverRequired(ApiError):
    """422: the payer's account is unknown, so the request must name a receiver."""

    code, status = "receiver_required", 422
    message = "The paying account is unknown. Enter the recipient of the refund."
    solution = "Send the `receiver` of the refund."

    def __init__(self) -> None:
        super().__init__(field_errors=[FieldError("receiver", self.code, self.message)])


class RefundLimitReached(ApiError):
    """409: so many refunds of the payment have succeeded or are pending; only all that is left can be refunded."""

    code, status = "refund_limit_reached", 409
    message = "This payment has 20 refunds already. Only everything that is left can still be refunded."
    solution = "Refund everything that is left, without `amount`."

    def __init__(self) -> None:
        super().__init__(members={"details": {"limit": REFUNDS_MAX}})


class ChargedBack(ApiError):
    """409: the payment has been charged back."""

    code, status = "payment_charged_back", 409
    message = "This payment was charged back and cannot be refunded."
    solution = "Nothing can be refunded: the customer has the money again."


class Destination(Struct, frozen=True):
    """The account in the rail's notation, and its holder. `method`: whose limits apply, unless it is the payer's account."""

    account: str
    name: str | None
    payer_account: str | None
    method: WithdrawalMethod | None = None

    @property
    def is_payer(self) -> bool:
        """Whether it is the account that paid."""
        return self.account == self.payer_account

    def approvals_needed(self, amount_minor: int) -> int:
        """The number of operators who review a refund of this amount."""
        if self.is_payer:
            return 0
        return 1 if self.method is None else self.method.approvals_needed(amount_minor)


def find_obstacle(
    current: Transaction, rails: Rails, now: datetime, catalogue: Catalogue
) -> ChargedBack | RefundNotAllowed | None:
    """The error for any refund of this payment; None if refunds are possible."""
    if current.status == "chargeback":
        return ChargedBack()
    if current.status not in REFUNDABLE:
        return RefundNotAllowed("status")
    rail_error = rails.payout_error(current.rail, current.env.mode, current.currency)
    if not catalogue.is_refundable(current.method_id) or rail_error == "provider_not_configured":
        return RefundNotAllowed("not_refundable_method")
    if now >= (current.succeeded_at or current.updated_at) + WINDOW:
        return RefundNotAllowed("window_passed")
    return None


async def find_payer(db: Pool | Tx, current: Transaction, rails: Rails) -> Payer | None:
    """The account that paid, if the rail reports it and can send money to it."""
    provider, payer = rails.find(current.rail, current.env.mode), await transaction_store.find_payer(db, current.id)
    if provider is None or payer is None or provider.receiver_error(payer.account) is not None:
        return None
    return payer


async def destination(
    tx: Tx, current: Transaction, new: NewRefund, rails: Rails, catalogue: Catalogue, *, by: Caller | None
) -> Destination:
    """Choose the destination of a refund of a locked payment. `by`: who asks; None for the merchant itself.

    Raises `ReceiverRequired`, `MissingScope` for another account without the permission to withdraw, and
    `MethodUnavailable` if the operator has disabled withdrawals by this rail.
    """
    provider, payer = rails.find(current.rail, current.env.mode), await find_payer(tx, current, rails)
    if provider is None:
        raise RefundNotAllowed("not_refundable_method")
    payer_account = None if payer is None else payer.account
    account = payer_account if new.receiver is None else provider.account_of(new.receiver)
    if account is None:
        raise ReceiverRequired
    if payer is not None and account == payer_account:
        return Destination(account, payer.name, account)
    if by is not None and SCOPE_FOR_OTHER_RECEIVERS not in by.scopes:
        raise MissingScope(by, SCOPE_FOR_OTHER_RECEIVERS, "payments:write", SCOPE_FOR_OTHER_RECEIVERS)
    method = gate.method_of(current.rail, current.currency, catalogue)
    if method is not None and not method.enabled:
        raise MethodUnavailable("disabled_by_operator")
    return Destination(account, None, payer_account, method)


def charged_minor(current: Transaction, catalogue: Catalogue) -> int:
    """The network fee that the merchant pays, as for a withdrawal of this currency by this rail."""
    method = gate.method_of(current.rail, current.currency, catalogue)
    return 0 if method is None else method.network_fee_minor


async def floor_minor(work: Work, current: Transaction) -> int:
    """The least amount of a refund that leaves a rest: that of the method, and five times the present network fee."""
    method = work.services.catalogue.methods.get(current.method_id)
    fee_minor = max(charged_minor(current, work.services.catalogue), await _measured_minor(work, current))
    return max(1 if method is None else method.minimum_refund_minor, FLOOR_IN_FEES * fee_minor)


async def _measured_minor(work: Work, current: Transaction) -> int:
    """What the network would take now, in the currency of the payment; 0 where that is not known."""
    network = work.services.rails.find(current.rail, current.env.mode)
    fee = network.payout_fee(current.currency) if isinstance(network, ChainNetwork) else None
    if fee is None or fee.amount_minor == 0:
        return 0
    if fee.currency == current.currency:
        return fee.amount_minor
    codes = frozenset({fee.currency, current.currency})
    known = await prices.list_prices(work.tx, current.env.mode, codes, work.now)
    if not codes <= known.keys():
        return 0
    catalogue, coin, asked = work.services.catalogue, known[fee.currency], known[current.currency]
    rate = rate_between(coin.per_euro, asked.per_euro, work.now)
    return exchange_from(catalogue.pair(fee.currency, current.currency), rate, fee.amount_minor, catalogue).to_amount_minor


class RefundPreview(Struct, frozen=True):
    """A refund that can be requested now. `unapplied_minor` of it was never credited to the merchant.

    `exchange` is how its money is bought back at the current rate, if the payment was converted to another currency.
    """

    payment: Transaction
    destination: Destination
    amount_minor: int
    unapplied_minor: int
    network_fee_minor: int = 0
    exchange: Exchange | None = None

    @property
    def cost(self) -> tuple[str, int]:
        """The currency and amount that leave the merchant's balance."""
        back = self.exchange
        return (self.payment.currency, self.held_minor) if back is None else (back.from_currency, back.from_amount_minor)

    @property
    def held_minor(self) -> int:
        """What is put on hold: the part that leaves the balance, and the network fee."""
        return self.credited_minor + self.network_fee_minor

    @property
    def credited_minor(self) -> int:
        """The part that leaves the merchant's balance."""
        return self.amount_minor - self.unapplied_minor


async def preview_refund(
    work: Work, env: MerchantEnv, transaction_id: UUID, new: NewRefund, *, by: Caller | None
) -> RefundPreview:
    """Validate a refund and lock its payment, or have it verified.

    Raises `NotFound`, `ValidationFailed`, `ChargedBack`, `RefundLimitReached`, `RefundNotAllowed`, what `destination`
    raises, `RefundTooLarge`, the limits of an amount, `AmountBelowFees`, `RateUnavailable` and `InsufficientFunds`.
    """
    rails = work.services.rails
    current = await transaction_store.get_to_change(work.tx, env, transaction_id)
    asked_minor = check(
        new, work.services.catalogue.currencies[current.currency], rails.find(current.rail, current.env.mode)
    )
    refused = find_obstacle(current, rails, work.now, work.services.catalogue)
    if refused is not None:
        raise refused
    if asked_minor not in {None, current.refundable_minor} and current.refunds_left == 0:
        raise RefundLimitReached
    target = await destination(work.tx, current, new, rails, work.services.catalogue, by=by)
    amount_minor = asked_minor or current.refundable_minor
    if not 0 < amount_minor <= current.refundable_minor:
        raise RefundTooLarge({"remaining_minor": current.refundable_minor, "currency": current.currency})
    if target.method is not None:
        gate.ensure_amount(target.method, amount_minor)
    await _ensure_worthwhile(work, current, amount_minor)
    unapplied_minor = min(amount_minor, current.unapplied_refundable_minor)
    fee_minor = charged_minor(current, work.services.catalogue) if amount_minor > unapplied_minor else 0
    if fee_minor and amount_minor <= fee_minor:
        raise AmountBelowFees(fee_minor)
    preview = RefundPreview(current, target, amount_minor, unapplied_minor, fee_minor)
    if preview.credited_minor:
        exchange = await priced.exchange_back(work, current, preview.held_minor)
        preview = msgspec.structs.replace(preview, exchange=exchange)
        await ensure_funds(work.tx, env, *preview.cost)
    return preview


async def _ensure_worthwhile(work: Work, current: Transaction, amount_minor: int) -> None:
    """Raise `AmountBelowMinimum` for a refund below the floor. All that is left can always be refunded."""
    if amount_minor == current.refundable_minor:
        return
    least_minor = await floor_minor(work, current)
    if amount_minor < least_minor:
        raise AmountBelowMinimum(least_minor)
