"""What a refund would do: the checks of a request, and its amounts."""

from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.refunds import network_fee
from tollhouse.payments.refunds.destination import Destination, destination, find_obstacle
from tollhouse.payments.refunds.errors import RefundLimitReached
from tollhouse.payments.refunds.new_refund import NewRefund, check
from tollhouse.payments.transactions import priced, settlement
from tollhouse.payments.transactions.model import Transaction
from tollhouse.transfers.conversions.model import Exchange
from tollhouse.transfers.gate import limits
from tollhouse.transfers.orders.errors import AmountBelowFees, AmountBelowMinimum, RefundTooLarge
from tollhouse.transfers.orders.funds import ensure_funds


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
    work: Work, env: MerchantEnv, transaction_id: UUID, new: NewRefund, *, may_withdraw: bool
) -> RefundPreview:
    """Validate a refund and lock its payment, or have it verified.

    Raises `NotFound`, `ValidationFailed`, `ChargedBack`, `RefundLimitReached`, `RefundNotAllowed`, what `destination`
    raises, `RefundTooLarge`, the limits of an amount, `AmountBelowFees`, `RateUnavailable` and `InsufficientFunds`.
    """
    rails = work.services.rails
    current = await settlement.lock_or_verify(work.tx, env, transaction_id)
    asked_minor = check(
        new, work.services.catalogue.currencies[current.currency], rails.find(current.rail, current.env.mode)
    )
    refused = find_obstacle(current, rails, work.now, work.services.catalogue)
    if refused is not None:
        raise refused
    if asked_minor not in {None, current.refundable_minor} and current.refunds_left == 0:
        raise RefundLimitReached
    target = await destination(work.tx, current, new, rails, work.services.catalogue, may_withdraw=may_withdraw)
    amount_minor = asked_minor or current.refundable_minor
    if not 0 < amount_minor <= current.refundable_minor:
        raise RefundTooLarge({"remaining_minor": current.refundable_minor, "currency": current.currency})
    if target.method is not None:
        limits.ensure_amount(target.method, amount_minor)
    await _ensure_worthwhile(work, current, amount_minor)
    unapplied_minor = min(amount_minor, current.unapplied_refundable_minor)
    fee_minor = network_fee.charged_minor(current, work.services.catalogue) if amount_minor > unapplied_minor else 0
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
    floor_minor = await network_fee.floor_minor(work, current)
    if amount_minor < floor_minor:
        raise AmountBelowMinimum(floor_minor)
