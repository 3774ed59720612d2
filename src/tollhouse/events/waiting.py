"""What the owner of events can change about those that wait: have one sent again, or end them all."""

from uuid import UUID

from tollhouse.events import store
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Tx


async def send_again(tx: Tx, env: MerchantEnv, event_id: UUID, destination_key: int) -> None:
    """Have an event sent once more, now, beside what its schedule still plans."""
    await tx.execute(store.REDELIVER, env.merchant_id, env.mode, event_id, destination_key)
    await tx.execute(store.REDELIVER_BESIDE, env.merchant_id, env.mode, event_id)
    await tx.execute(store.EXPECT_REDELIVERY, env.merchant_id, env.mode, event_id)


async def cancel(tx: Tx, env: MerchantEnv) -> None:
    """Send nothing that waits in this environment. What is on its way ends by itself."""
    await tx.execute(store.CANCEL_WAITING, env.merchant_id, env.mode)
