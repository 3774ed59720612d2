"""The background job that closes expired links.

No state depends on it: every reader of a link or an attempt compares its expiry with the current time.
"""

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.payments.links import store as link_store
from tollhouse.payments.transactions import link_closing, store, transfers_store

BATCH_SIZE = 50


async def close_links(services: Services) -> None:
    """Expire links that are due, and end attempts of closed links that are partly paid or wait for what no block takes."""
    now = clock.now()
    for env, link_id in await link_store.list_due(services.db, now, BATCH_SIZE):
        await services.transact(lambda work, env=env, link_id=link_id: link_closing.expire_due(work, env, link_id), now)
    stalled = await transfers_store.list_stalled(services.db, services.rails.block_limits, now, BATCH_SIZE)
    for env, attempt_id in stalled:
        await services.transact(
            lambda work, env=env, attempt_id=attempt_id: link_closing.end_stalled(work, env, attempt_id), now
        )
    for env, attempt_id in await store.list_partly_paid(services.db, BATCH_SIZE):
        await services.transact(
            lambda work, env=env, attempt_id=attempt_id: link_closing.end_partly_paid(work, env, attempt_id), now
        )
