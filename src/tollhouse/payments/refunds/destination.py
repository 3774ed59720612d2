"""Whether a payment can be refunded, and to which account: the payer's, or, after a review, another."""

from datetime import datetime, timedelta

from msgspec import Struct

from tollhouse.accounts.identity.model import MissingScope
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.rails.provider import Payer
from tollhouse.kernel.rails.registry import Rails
from tollhouse.payments.links.errors import MethodUnavailable
from tollhouse.payments.refunds.errors import ChargedBack, ReceiverRequired, RefundNotAllowed
from tollhouse.payments.refunds.new_refund import NewRefund
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import REFUNDABLE, Transaction
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.gate import limits

SCOPE_FOR_OTHER_RECEIVERS = "withdrawals:write"
WINDOW = timedelta(days=180)
"""How long after its success a payment can be refunded."""


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
    tx: Tx, current: Transaction, new: NewRefund, rails: Rails, catalogue: Catalogue, *, may_withdraw: bool
) -> Destination:
    """Choose the destination of a refund of a locked payment.

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
    if not may_withdraw:
        raise MissingScope(SCOPE_FOR_OTHER_RECEIVERS)
    method = limits.method_of(current.rail, current.currency, catalogue)
    if method is not None and not method.enabled:
        raise MethodUnavailable("disabled_by_operator")
    return Destination(account, None, payer_account, method)
