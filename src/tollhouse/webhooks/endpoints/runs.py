"""Bulk redelivery of failed events: requested once, run by the worker in steps of one transaction each."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.pool import Tx
from tollhouse.webhooks.endpoints import actions, runs_store, store
from tollhouse.webhooks.endpoints.model import WebhookDeliveryDisabled, WebhookSecretMissing
from tollhouse.webhooks.endpoints.runs_model import CHECKED_MAX, FailedEvent, FailureFilter, RedeliveryRun
from tollhouse.webhooks.events import secrets
from tollhouse.webhooks.events import store as events_store
from tollhouse.webhooks.events.destination import destination_key

STEP = 100
DONE = "done"

RUNS_RETAINED = timedelta(days=30)


async def start(work: Work, env: MerchantEnv, failure_filter: FailureFilter) -> UUID:
    """Start a run, or return the active one."""
    await secrets.lock(work.tx, env)  # one active run per environment
    if (error := await _blocking_error(work.tx, env, work.now)) is not None:
        raise error
    active_run = await runs_store.find_active(work.tx, env)
    if active_run is not None:
        return active_run
    expected = await runs_store.count(work.tx, env, failure_filter, CHECKED_MAX)
    # Nothing below this line may refuse.
    run_id = new_id()
    await runs_store.start(work.tx, env, run_id, failure_filter, expected, work.now)
    await record.event(work, env, "webhooks.failed_sent_again", subject=run_id, changed=new_values(events=expected))
    return run_id


async def run_step(work: Work) -> bool:
    """Run one step of one run. False if no run is active.

    Each event is redelivered once beside its schedule, unless an attempt is due or under way.
    """
    run = await runs_store.lock_next(work.tx)
    if run is None:
        return False
    await secrets.lock(work.tx, run.env)
    obstacle = await _blocking_error(work.tx, run.env, work.now)
    if obstacle is not None:
        await runs_store.end(work.tx, run, work.now, obstacle.code)
        return True
    step = await runs_store.list_next(work.tx, run, min(STEP, CHECKED_MAX - run.checked))
    if not step:
        await runs_store.end(work.tx, run, work.now, DONE)
        return True
    sent = skipped = 0
    for failure in step:
        if run.failure_filter.type not in {"", failure.type}:
            continue
        if await _redeliver(work, run, failure):
            sent += 1
        else:
            skipped += 1
    await runs_store.record_progress(work.tx, run, step, sent, skipped)
    return True


async def _blocking_error(tx: Tx, env: MerchantEnv, now: datetime) -> WebhookDeliveryDisabled | WebhookSecretMissing | None:
    """The error that prevents delivery in this environment, if any."""
    if not await store.is_delivery_enabled(tx, env):
        return WebhookDeliveryDisabled()
    if not (await secrets.get_state(tx, env, now)).has_secret:
        return WebhookSecretMissing()
    return None


async def _redeliver(work: Work, run: RedeliveryRun, failure: FailedEvent) -> bool:
    """Redeliver the event if it is still failed and has a URL. Returns whether it was."""
    url = failure.destination_url
    if failure.destination_source == "saved":
        saved = await actions.get_configuration(work.tx, run.env, work.services)
        url = None if saved is None else saved.url
    if not failure.failed or url is None:
        return False
    await events_store.redeliver(work.tx, run.env, failure.event_id, destination_key(run.env, url))
    return True


async def run_redeliveries(services: Services) -> None:
    """Run the steps of all active redelivery runs."""
    while await services.transact(run_step, clock.now()):
        pass


async def delete_old_runs(services: Services) -> None:
    """Delete runs that ended long ago."""
    await delete_in_batches(services.db, runs_store.DELETE_OLD, clock.now() - RUNS_RETAINED)
