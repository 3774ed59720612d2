"""What the statements of the bank mean for withdrawals: the money left, came back, or an operator keeps it here."""

from datetime import datetime
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer import Payout
from tollhouse.rails.provider import PayoutState
from tollhouse.withdrawals import by_bank_store, sending
from tollhouse.withdrawals.model import Withdrawal


async def waiting(tx: Tx) -> list[Payout]:
    """The withdrawals that the bank rail has accepted, and that have not ended."""
    return await by_bank_store.waiting_withdrawals(tx)


async def complete(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, services: Services, now: datetime) -> Withdrawal:
    """The statement shows that it left. Raises `NotFound` and `InvalidState`."""
    return await sending.complete(tx, env, withdrawal_id, PayoutState("succeeded"), services, now)


async def refuse(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, services: Services, now: datetime) -> Withdrawal:
    """It does not leave: the merchant has it again. Raises `NotFound` and `InvalidState`."""
    return await sending.fail(tx, env, withdrawal_id, "payout_declined", services, now)
