"""Where a refund goes: to the account that paid, or, after a review and within the limits of withdrawals, to another."""

from msgspec import Struct

from tollhouse.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.identity.model import MissingScope
from tollhouse.outgoing import limits
from tollhouse.payment_links.errors import MethodUnavailable
from tollhouse.platform.db import Pool, Tx
from tollhouse.rails import configured
from tollhouse.rails.provider import Payer
from tollhouse.refunds.errors import ReceiverRequired, RefundNotAllowed
from tollhouse.refunds.new_refund import NewRefund
from tollhouse.transactions import store as transaction_store
from tollhouse.transactions.model import Transaction

SCOPE_FOR_OTHERS = "withdrawals:write"


class Destination(Struct, frozen=True):
    """The account, as the rail writes it, and its holder's name. `method`: whose limits apply, to another account."""

    account: str
    name: str | None
    payer_account: str | None
    method: WithdrawalMethod | None = None

    @property
    def is_payer(self) -> bool:
        """Whether it is the account that paid."""
        return self.account == self.payer_account

    def approvals_needed(self, amount_minor: int) -> int:
        """How many operators review a refund of this amount."""
        if self.is_payer:
            return 0
        return 1 if self.method is None else self.method.approvals_needed(amount_minor)


async def payer_of(db: Pool | Tx, current: Transaction) -> Payer | None:
    """Who paid, where the rail knows it and can send money there."""
    provider, payer = configured.rail(current.rail, current.env.mode), await transaction_store.payer(db, current.id)
    if provider is None or payer is None or provider.receiver_fault(payer.account) is not None:
        return None
    return payer


async def destination(tx: Tx, current: Transaction, new: NewRefund, *, may_withdraw: bool) -> Destination:
    """Where this refund of a locked payment goes.

    Raises `ReceiverRequired`, `MissingScope` for another account without the permission to withdraw, and
    `MethodUnavailable` where the operator has switched withdrawals by this rail off.
    """
    provider, payer = configured.rail(current.rail, current.env.mode), await payer_of(tx, current)
    if provider is None:
        raise RefundNotAllowed("not_refundable_method")
    payer_account = None if payer is None else payer.account
    account = payer_account if new.receiver is None else provider.account_of(new.receiver)
    if account is None:
        raise ReceiverRequired
    if payer is not None and account == payer_account:
        return Destination(account, payer.name, account)
    if not may_withdraw:
        raise MissingScope(SCOPE_FOR_OTHERS)
    method = limits.method_of(current.rail, current.currency)
    if method is not None and not method.enabled:
        raise MethodUnavailable("disabled_by_operator")
    return Destination(account, None, payer_account, method)
