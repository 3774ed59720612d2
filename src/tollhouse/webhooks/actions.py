"""What can be done with a merchant's webhooks: save, switch off, renew the secret, test, send again."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.audit import record
from tollhouse.audit.changes import changes
from tollhouse.events import secrets
from tollhouse.events import store as events_store
from tollhouse.events.destination import destination_key
from tollhouse.events.record import record_test
from tollhouse.http.services import Services
from tollhouse.identity.throttle import RateLimited
from tollhouse.kernel.clock import stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.db import Pool, Tx
from tollhouse.webhooks import store
from tollhouse.webhooks.model import (
    Configuration,
    DeprecatedWebhookRemoved,
    EventView,
    EventWithHistory,
    NewConfiguration,
    SecretStateView,
    WebhookDeliveryDisabled,
    WebhookDestinationMissing,
    WebhookSecretMissing,
    url_faults,
)

TESTS_WINDOW = timedelta(minutes=1)


async def configuration_of(db: Pool | Tx, env: MerchantEnv, services: Services) -> Configuration | None:
    """The saved configuration; None before the first PUT and after the end of compatibility."""
    return await store.configuration(db, env) if services.settings.deprecated_webhooks else None


def ensure_compatible(services: Services) -> None:
    """See to it that saved addresses are still used. Raises `DeprecatedWebhookRemoved`."""
    if not services.settings.deprecated_webhooks:
        raise DeprecatedWebhookRemoved


async def save(
    tx: Tx, env: MerchantEnv, new: NewConfiguration, services: Services, now: datetime
) -> tuple[Configuration, str | None]:
    """Save the address; the configuration, and a new secret where the environment had no active one."""
    ensure_compatible(services)
    if field_errors := new.field_errors(env, services.settings):
        raise ValidationFailed(*field_errors)
    # Nothing below this line may refuse.
    await secrets.lock(tx, env)
    before = await store.configuration(tx, env)
    key = destination_key(env, new.url)
    await tx.execute(store.SAVE, env.merchant_id, env.mode, new.url, key, new.event_types, new.enabled, now)
    if not new.enabled:
        await events_store.cancel_pending(tx, env)
    state = await secrets.get_state(tx, env, now)
    secret = None if state.has_secret else await secrets.replace(tx, env, services.keys, now)
    saved = await store.configuration(tx, env)
    if saved is None:
        raise AssertionError("it was saved just now")
    await record.note(tx, env, "webhooks.saved", now, changed=changes(_said(before), _said(saved)))
    if secret is not None:
        await record.note(tx, env, "webhooks.secret_replaced", now)
    return saved, secret


async def switch_off(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> Configuration | None:
    """End delivery in the whole environment. What waits is canceled; address, secret and history stay."""
    await secrets.lock(tx, env)
    was_on = await store.delivery_is_on(tx, env)
    await tx.execute(store.SWITCH_OFF, env.merchant_id, env.mode, now)
    await events_store.cancel_pending(tx, env)
    if was_on:
        await record.note(tx, env, "webhooks.off", now)
    return await configuration_of(tx, env, services)


async def switch_on(tx: Tx, env: MerchantEnv, now: datetime) -> None:
    """Deliver again, from the next event on. What was canceled stays so."""
    await secrets.lock(tx, env)
    await _switch_on(tx, env, now)


async def renew_secret(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> str:
    """Replace the signing secret at once; attempts from now on are signed with the new one."""
    await secrets.lock(tx, env)
    await record.note(tx, env, "webhooks.secret_replaced", now)
    return await secrets.replace(tx, env, services.keys, now)


async def prepare_secret(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> str:
    """A secret that signs nothing until it is activated, within the hour."""
    await secrets.lock(tx, env)
    await record.note(tx, env, "webhooks.secret_prepared", now)
    return await secrets.generate(tx, env, services.keys, now)


async def activate_secret(tx: Tx, env: MerchantEnv, now: datetime) -> SecretStateView:
    """The prepared secret signs, and delivery is on. Without a prepared one only the latter."""
    await secrets.lock(tx, env)
    await _switch_on(tx, env, now)
    if await secrets.activate(tx, env, now):
        await record.note(tx, env, "webhooks.secret_activated", now)
    return await secret_state(tx, env, now)


async def secret_state(db: Pool | Tx, env: MerchantEnv, now: datetime) -> SecretStateView:
    """Whether a secret signs, since when, and whether one waits."""
    state = await secrets.get_state(db, env, now)
    return SecretStateView(state.has_secret, state.pending, stamp_or_none(state.activated_at))


async def send_test(tx: Tx, env: MerchantEnv, url: str, services: Services, now: datetime) -> EventView:
    """Store a test event for this address; the worker sends it once, in either mode."""
    if field_errors := url_faults(url, env, services.settings):
        raise ValidationFailed(*field_errors)
    await secrets.lock(tx, env)  # so that tests at once are counted one after another
    await _refuse_too_many(tx, env, services, now)
    if not (await secrets.get_state(tx, env, now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    return await _seen(tx, env, await record_test(tx, env, url, services=services, now=now))


async def event_with_history(db: Pool, env: MerchantEnv, event_id: UUID) -> EventWithHistory:
    """One event and its attempts, seen in one snapshot. Raises `NotFound`."""
    async with db.connection() as tx, tx.snapshot():
        event = await store.event(tx, env, event_id)
        if event is None:
            raise NotFound
        history = await store.history(tx, env, event_id)
    return EventWithHistory(**msgspec.structs.asdict(event), delivery_history=history)


async def redeliver(tx: Tx, env: MerchantEnv, event_id: UUID, services: Services, now: datetime) -> EventView:
    """Send a stored event again, once: same id and bytes, signed with the present secret, beside the schedule."""
    found = await store.destination(tx, env, event_id)
    if found is None:
        raise NotFound
    if not await store.delivery_is_on(tx, env):
        raise WebhookDeliveryDisabled
    source, url = found
    if source not in {"request", "test"}:
        saved = await configuration_of(tx, env, services)
        url = None if saved is None else saved.url
    if url is None:
        raise WebhookDestinationMissing
    if not (await secrets.get_state(tx, env, now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    await events_store.redeliver(tx, env, event_id, destination_key(env, url))
    return await _seen(tx, env, event_id)


async def redeliver_unless_due(tx: Tx, env: MerchantEnv, event_id: UUID, services: Services, now: datetime) -> None:
    """The same for a person at a page, whose browser sends no key: clicked twice, it is sent once.

    While an attempt is due or on its way nothing is added to it.
    """
    await secrets.lock(tx, env)  # so that two clicks come one after the other
    if not await store.attempt_is_due(tx, env, event_id):
        await redeliver(tx, env, event_id, services, now)


async def _switch_on(tx: Tx, env: MerchantEnv, now: datetime) -> None:
    if not await store.delivery_is_on(tx, env):
        await tx.execute(store.SWITCH_ON, env.merchant_id, env.mode)
        await record.note(tx, env, "webhooks.on", now)


def _said(configuration: Configuration | None) -> Mapping[str, object]:
    """What a merchant can say of its webhooks."""
    if configuration is None:
        return {}
    said = {"webhook_url": configuration.url, "event_types": configuration.event_types}
    return said | {"delivery": "on" if configuration.enabled else "off"}


async def _refuse_too_many(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> None:
    most = services.settings.rate_webhook_test_per_min
    if not services.settings.rate_limits or not most:
        return
    count, oldest = await store.tests_since(tx, env, now - TESTS_WINDOW)
    if count >= most:
        # A test that came at the same time may have been stored under a later moment than ours.
        raise RateLimited(min(oldest, now) + TESTS_WINDOW - now)


async def _seen(tx: Tx, env: MerchantEnv, event_id: UUID) -> EventView:
    event = await store.event(tx, env, event_id)
    if event is None:
        raise AssertionError("the event was there just now")
    return event
