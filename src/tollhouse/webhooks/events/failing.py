"""The job that sends to merchants that their webhook events have not been delivered for an hour, at most once a day."""

from datetime import timedelta

from tollhouse.accounts.identity import notifications
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.webhooks.events import failing_store

LOOK_EVERY_S = 300
FAILING_FOR, READ_BACK = timedelta(hours=1), timedelta(days=1)
FACTS = {"path": "/live/developers/events?status=retrying"}


async def send_failing(services: Services) -> None:
    """Enqueue the emails. Several workers that look at once enqueue one for each person."""
    now = clock.now()
    for merchant_id in await failing_store.list_failing(services.db, now - FAILING_FOR, now - READ_BACK):
        env = MerchantEnv(merchant_id, "live")
        await services.transact(
            lambda work, env=env: notifications.notify(work, env, "webhooks_failing", now.date(), lambda _: FACTS), now
        )
