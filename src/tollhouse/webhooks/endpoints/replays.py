"""Events of test mode that are sent to another URL: requested on a page, sent once by the worker, beside their delivery."""

import asyncio
from datetime import timedelta
from uuid import UUID

from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.clock import seconds
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.limits import DELIVERY_LEASE_S
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.database.pool import Row
from tollhouse.platform.encryption import DecryptionError
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.outbound import Outbound, Outcome
from tollhouse.webhooks.delivery import signed_request
from tollhouse.webhooks.delivery.response_excerpts import BYTES_READ, excerpt
from tollhouse.webhooks.endpoints import actions, replays_store, store
from tollhouse.webhooks.endpoints.model import WebhookDeliveryDisabled, WebhookSecretMissing, url_errors
from tollhouse.webhooks.events import secrets

AT_ONCE = 20
RETAINED = timedelta(days=30)
UNSIGNED = Outcome("signing_secret_missing", None, 0)


async def start(work: Work, env: MerchantEnv, event_id: UUID, url: str) -> None:
    """Record that the event is to be sent to this URL, once. The event, its delivery and the feed stay as they are.

    Raises `NotFound` in live mode, where receivers would act on it.
    """
    if env.livemode or await store.get_event(work.tx, env, event_id) is None:
        raise NotFound
    if field_errors := url_errors(url, env, work.services.settings):
        raise ValidationFailed(*field_errors)
    await secrets.lock(work.tx, env)  # serializes the rate limit
    await actions.ensure_test_rate(work, env)
    if not await store.is_delivery_enabled(work.tx, env):
        raise WebhookDeliveryDisabled
    if not (await secrets.get_state(work.tx, env, work.now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    await replays_store.insert(work.tx, env, new_id(), event_id, url, work.now)


async def send_waiting(services: Services) -> None:
    """Send what waits. What a worker took and did not finish has ended, and is not sent again."""
    await replays_store.end_lost(services.db, seconds(DELIVERY_LEASE_S))
    waiting = await replays_store.claim(services.db, AT_ONCE)
    if not waiting:
        return
    async with Outbound(services.settings) as outbound:
        await asyncio.gather(*(_send(services, outbound, row) for row in waiting))


async def delete_old(services: Services) -> None:
    """Delete those that were requested long ago."""
    await delete_in_batches(services.db, replays_store.DELETE_OLD, clock.now() - RETAINED)


async def _send(services: Services, outbound: Outbound, row: Row) -> None:
    """Send the event as it is delivered, signed with the secret of now, and record the answer. It is never unsigned."""
    env, event_id, body = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["event_id"], unpack(row["body"])
    headers = signed_request.unsigned_headers(event_id, row["type"], row["position"], env.mode, 1)
    try:
        signing = await secrets.list_signing(services.db, env, row["started_at"])
        signatures = signed_request.signature_headers(services.keys, env, signing, event_id, row["started_at"], body)
    except (DecryptionError, ValueError) as error:
        log.error("webhook_signing_failed", event_id=str(event_id), error=type(error).__name__)
        signatures = {}
    outcome = await outbound.post(row["url"], body, headers | signatures, kept_bytes=BYTES_READ) if signatures else UNSIGNED
    kept = None if outcome.http_status is None else excerpt(outcome.headers, outcome.body)
    await replays_store.end(services.db, row, outcome, kept)
