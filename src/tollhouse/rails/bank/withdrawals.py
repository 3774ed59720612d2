"""Withdrawals that leave by bank transfer, as bank statements and operators settle them."""

from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.provider import PayoutState
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import withdrawals_store as by_bank_store
from tollhouse.rails.bank.files.transfer import Payout
from tollhouse.transfers.withdrawals import sending
from tollhouse.transfers.withdrawals.model import Withdrawal


async def list_pending(tx: Tx) -> list[Payout]:
    """The withdrawals that the bank rail has accepted and that have not ended."""
    return await by_bank_store.list_pending(tx)


async def complete(work: Work, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """Complete a withdrawal that a statement shows as sent. Raises `NotFound` and `InvalidState`."""
    return await sending.complete(work, env, withdrawal_id, PayoutState("succeeded"))


async def decline(work: Work, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """Fail a withdrawal that the bank does not send. Raises `NotFound` and `InvalidState`."""
    return await sending.fail(work, env, withdrawal_id, "payout_declined")


async def decline_receiver(work: Work, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """The same, because the bank cannot pay to the receiver's account."""
    return await sending.fail(work, env, withdrawal_id, "receiver_invalid")
