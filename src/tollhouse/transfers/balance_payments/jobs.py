"""Background job of balance payments: release expired reservations.

A reservation counts as expired from its time on, whether or not the job has run.
"""

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.transfers.balance_payments import actions, store

BATCH_SIZE = 50


async def expire_reservations(services: Services) -> None:
    """Release the reservations that have expired."""
    now = clock.now()
    for env, payment_id in await store.list_due(services.db, now, BATCH_SIZE):
        await services.transact(lambda work, env=env, one=payment_id: actions.expire(work, env, one), now)
