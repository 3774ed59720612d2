"""What the worker does for balance payments: gives back what nobody captured in time.

No state depends on the job having run in time: whoever uses an expired reservation finds it expired.
"""

from collections.abc import Awaitable, Callable

from tollhouse.balance_payments import actions, store
from tollhouse.http.services import Services
from tollhouse.kernel import clock

AT_ONCE = 50


async def expire_reservations(services: Services) -> None:
    """Give back the reservations whose time is over."""
    now = clock.now()
    for env, payment_id in await store.due(services.db, now, AT_ONCE):
        await services.db.transact(lambda tx, env=env, one=payment_id: actions.expire_due(tx, env, one, services, now))


JOBS: tuple[Callable[[Services], Awaitable[None]], ...] = (expire_reservations,)
"""To be run every moment."""
