"""Issues receipts: a payment gets its number when its receipt is needed for the first time."""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.environments import payment_settings
from tollhouse.kernel.clock import zone_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.receipts import store
from tollhouse.payments.receipts.model import Receipt
from tollhouse.platform.database.pool import Pool, Tx


async def load_receipt(db: Pool, env: MerchantEnv, transaction_id: UUID, now: datetime) -> Receipt | None:
    """The receipt of a payment, issued now if it has none; None if the payment was never credited.

    The number is assigned in a transaction of its own, so that bookings of payments never wait for a merchant's counter.
    """
    found = await store.find(db, env, transaction_id)
    if found is None or found.receipt is not None:
        return None if found is None else found.receipt
    payment = found.payment
    seller = await store.seller(db, env)
    branding = (await payment_settings.of(db, env)).branding
    seller = msgspec.structs.replace(seller, name=branding.display_name or seller.name)
    year = payment.succeeded_at.astimezone(zone_of(seller.time_zone)).year

    async def action(tx: Tx) -> None:
        await store.issue(tx, payment, year, seller, now)

    await db.transact(action)
    found = await store.find(db, env, transaction_id)
    return None if found is None else found.receipt
