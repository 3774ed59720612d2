"""Sending all failed events again: asked for once, and done by the worker in steps that each are one transaction."""

from datetime import datetime
from uuid import UUID

from tollhouse.audit import record
from tollhouse.audit.changes import made
from tollhouse.events import secrets
from tollhouse.events import store as events_store
from tollhouse.events.destination import destination_key
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.platform.db import Tx
from tollhouse.webhooks import actions, runs_store, store
from tollhouse.webhooks.model import WebhookDeliveryDisabled, WebhookSecretMissing
from tollhouse.webhooks.runs_model import LOOKED_AT_MAX, Failure, Run, Wanted

STEP = 100
DONE = "done"


async def begin(tx: Tx, env: MerchantEnv, wanted: Wanted, now: datetime) -> UUID:
    """The run that sends these events again; the one that is under way, where there is one already."""
    await secrets.lock(tx, env)  # so that two come one after the other
    if (error := await _obstacle(tx, env, now)) is not None:
        raise error
    under_way = await runs_store.under_way(tx, env)
    if under_way is not None:
        return under_way
    expected = await runs_store.count(tx, env, wanted, LOOKED_AT_MAX)
    # Nothing below this line may refuse.
    run_id = new_id()
    await runs_store.begin(tx, env, run_id, wanted, expected, now)
    await record.note(tx, env, "webhooks.failed_sent_again", now, subject=run_id, changed=made(events=expected))
    return run_id


async def go_on(tx: Tx, services: Services, now: datetime) -> bool:
    """One step of one run. False: there is none to work at.

    Each event is sent as by the button of its page: once, beside its schedule. One that is due, or on its way, is left.
    """
    run = await runs_store.take(tx)
    if run is None:
        return False
    await secrets.lock(tx, run.env)
    obstacle = await _obstacle(tx, run.env, now)
    if obstacle is not None:
        await runs_store.end(tx, run, now, obstacle.code)
        return True
    step = await runs_store.step(tx, run, min(STEP, LOOKED_AT_MAX - run.looked_at))
    if not step:
        await runs_store.end(tx, run, now, DONE)
        return True
    sent = passed_over = 0
    for failure in step:
        if run.wanted.type not in {"", failure.type}:
            continue
        if await _send_again(tx, run, failure, services):
            sent += 1
        else:
            passed_over += 1
    await runs_store.reach(tx, run, step, sent, passed_over)
    return True


async def _obstacle(tx: Tx, env: MerchantEnv, now: datetime) -> WebhookDeliveryDisabled | WebhookSecretMissing | None:
    """Why nothing can be sent in this environment."""
    if not await store.delivery_is_on(tx, env):
        return WebhookDeliveryDisabled()
    if not (await secrets.get_state(tx, env, now)).has_secret:
        return WebhookSecretMissing()
    return None


async def _send_again(tx: Tx, run: Run, failure: Failure, services: Services) -> bool:
    """Whether it still was failed and had somewhere to go, and so is sent."""
    url = failure.destination_url
    if failure.destination_source == "saved":
        saved = await actions.configuration_of(tx, run.env, services)
        url = None if saved is None else saved.url
    if not failure.failed or url is None:
        return False
    await events_store.redeliver(tx, run.env, failure.event_id, destination_key(run.env, url))
    return True
