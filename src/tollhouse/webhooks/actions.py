"""Changes of a merchant's webhooks: the saved URL, delivery, signing secrets, test events, redelivery."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

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
    DeliveryAttempt,
    DeprecatedWebhookRemoved,
    NewConfiguration,
    SecretStateView,
    WebhookConfiguration,
    WebhookDeliveryDisabled,
    WebhookDestinationMissing,
    WebhookEvent,
    WebhookSecretMissing,
    url_errors,
)

TESTS_WINDOW = timedelta(minutes=1)


async def get_configuration(db: Pool | Tx, env: MerchantEnv, services: Services) -> WebhookConfiguration | None:
    """The saved configuration; None before the first PUT and without `NOTIFY_DEPRECATED_WH`."""
    return await store.get_configuration(db, env) if services.settings.deprecated_webhooks else None


def ensure_saved_urls_supported(services: Services) -> None:
    """Raise `DeprecatedWebhookRemoved` unless `NOTIFY_DEPRECATED_WH` is on."""
    if not services.settings.deprecated_webhooks:
        raise DeprecatedWebhookRemoved


async def save(
    tx: Tx, env: MerchantEnv, new: NewConfiguration, services: Services, now: datetime
) -> tuple[WebhookConfiguration, str | None]:
    """Save the configuration. Returns it, and a new secret if the environment had no active one."""
    ensure_saved_urls_supported(services)
    if field_errors := new.field_errors(env, services.settings):
        raise ValidationFailed(*field_errors)
    # Nothing below this line may refuse.
    await secrets.lock(tx, env)
    before = await store.get_configuration(tx, env)
    key = destination_key(env, new.url)
    await tx.execute(store.SAVE, env.merchant_id, env.mode, new.url, key, new.event_types, new.enabled, now)
    if not new.enabled:
        await events_store.cancel_pending(tx, env)
    state = await secrets.get_state(tx, env, now)
    secret = None if state.has_secret else await secrets.replace(tx, env, services.keys, now)
    saved = await store.get_configuration(tx, env)
    if saved is None:
        raise AssertionError("saved in this transaction")
    await record.event(tx, env, "webhooks.saved", now, changed=changes(_audited_fields(before), _audited_fields(saved)))
    if secret is not None:
        await record.event(tx, env, "webhooks.secret_replaced", now)
    return saved, secret


async def disable_delivery(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> WebhookConfiguration | None:
    """Disable delivery in the environment and cancel pending events. URL, secret and history stay."""
    await secrets.lock(tx, env)
    was_enabled = await store.is_delivery_enabled(tx, env)
    await tx.execute(store.DISABLE_DELIVERY, env.merchant_id, env.mode, now)
    await events_store.cancel_pending(tx, env)
    if was_enabled:
        await record.event(tx, env, "webhooks.off", now)
    return await get_configuration(tx, env, services)


async def enable_delivery(tx: Tx, env: MerchantEnv, now: datetime) -> None:
    """Enable delivery of new events. Canceled events stay canceled."""
    await secrets.lock(tx, env)
    await _switch_on(tx, env, now)


async def rotate_secret(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> str:
    """Replace the signing secret at once, also for pending retries. Returns the new one."""
    await secrets.lock(tx, env)
    await record.event(tx, env, "webhooks.secret_replaced", now)
    return await secrets.replace(tx, env, services.keys, now)


async def generate_secret(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> str:
    """Create a secret that can be activated within the hour."""
    await secrets.lock(tx, env)
    await record.event(tx, env, "webhooks.secret_prepared", now)
    return await secrets.generate(tx, env, services.keys, now)


async def activate_secret(tx: Tx, env: MerchantEnv, now: datetime) -> SecretStateView:
    """Activate the pending secret, if any, and enable delivery."""
    await secrets.lock(tx, env)
    await _switch_on(tx, env, now)
    if await secrets.activate(tx, env, now):
        await record.event(tx, env, "webhooks.secret_activated", now)
    return await get_secret_state(tx, env, now)


async def get_secret_state(db: Pool | Tx, env: MerchantEnv, now: datetime) -> SecretStateView:
    """Whether a secret is active, since when, and whether one is pending."""
    state = await secrets.get_state(db, env, now)
    return SecretStateView(state.has_secret, state.pending, stamp_or_none(state.activated_at))


async def send_test(tx: Tx, env: MerchantEnv, url: str, services: Services, now: datetime) -> WebhookEvent:
    """Record a test event for this address. The worker sends it once, in either mode."""
    if field_errors := url_errors(url, env, services.settings):
        raise ValidationFailed(*field_errors)
    await secrets.lock(tx, env)  # serializes the rate limit
    await _ensure_test_rate(tx, env, services, now)
    if not (await secrets.get_state(tx, env, now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    return await _get_recorded(tx, env, await record_test(tx, env, url, services=services, now=now))


async def get_event(db: Pool, env: MerchantEnv, event_id: UUID) -> tuple[WebhookEvent, list[DeliveryAttempt]]:
    """An event and its attempts, in one snapshot. Raises `NotFound`."""
    async with db.connection() as tx, tx.snapshot():
        event = await store.get_event(tx, env, event_id)
        if event is None:
            raise NotFound
        return event, await store.list_attempts(tx, env, event_id)


async def redeliver(tx: Tx, env: MerchantEnv, event_id: UUID, services: Services, now: datetime) -> WebhookEvent:
    """Send an event once more beside its schedule: same id and body, signed with the current secret."""
    event = await store.get_event(tx, env, event_id)
    if event is None:
        raise NotFound
    if not await store.is_delivery_enabled(tx, env):
        raise WebhookDeliveryDisabled
    url = event.destination_url
    if event.destination_source not in {"request", "test"}:
        saved = await get_configuration(tx, env, services)
        url = None if saved is None else saved.url
    if url is None:
        raise WebhookDestinationMissing
    if not (await secrets.get_state(tx, env, now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    await events_store.redeliver(tx, env, event_id, destination_key(env, url))
    return await _get_recorded(tx, env, event_id)


async def redeliver_unless_due(tx: Tx, env: MerchantEnv, event_id: UUID, services: Services, now: datetime) -> None:
    """Redeliver unless an attempt is due or under way, so that a double click sends once."""
    await secrets.lock(tx, env)  # serializes double clicks
    if not await store.is_attempt_due(tx, env, event_id):
        await redeliver(tx, env, event_id, services, now)


async def _switch_on(tx: Tx, env: MerchantEnv, now: datetime) -> None:
    if not await store.is_delivery_enabled(tx, env):
        await tx.execute(store.ENABLE_DELIVERY, env.merchant_id, env.mode)
        await record.event(tx, env, "webhooks.on", now)


def _audited_fields(configuration: WebhookConfiguration | None) -> Mapping[str, object]:
    """The fields whose changes the audit log shows."""
    if configuration is None:
        return {}
    fields = {"webhook_url": configuration.url, "event_types": configuration.event_types}
    return fields | {"delivery": "on" if configuration.enabled else "off"}


async def _ensure_test_rate(tx: Tx, env: MerchantEnv, services: Services, now: datetime) -> None:
    limit = services.settings.rate_webhook_test_per_min
    if not services.settings.rate_limits or not limit:
        return
    count, oldest = await store.count_tests_since(tx, env, now - TESTS_WINDOW)
    if count >= limit:
        # A concurrent test may have been recorded with a later time.
        raise RateLimited(min(oldest, now) + TESTS_WINDOW - now)


async def _get_recorded(tx: Tx, env: MerchantEnv, event_id: UUID) -> WebhookEvent:
    event = await store.get_event(tx, env, event_id)
    if event is None:
        raise AssertionError("read in this transaction")
    return event
