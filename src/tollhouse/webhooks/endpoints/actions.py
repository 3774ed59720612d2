"""Changes of a merchant's webhooks: the saved URL, delivery, signing secrets, test events, redelivery."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.http.services import Services, Work
from tollhouse.kernel import messages
from tollhouse.kernel.clock import stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.webhooks.endpoints import replays_store, store
from tollhouse.webhooks.endpoints.model import (
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
from tollhouse.webhooks.events import environments_store, secrets
from tollhouse.webhooks.events import store as events_store
from tollhouse.webhooks.events.destination import destination_key
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT, EventType, record_test

TESTS_WINDOW = timedelta(minutes=1)
TEST_DATA = {"object": {"message": "This is a test event. Nothing happened."}}


async def get_configuration(db: Pool | Tx, env: MerchantEnv, services: Services) -> WebhookConfiguration | None:
    """The saved configuration; None before the first PUT and without `NOTIFY_DEPRECATED_WH`."""
    return await store.get_configuration(db, env) if services.settings.deprecated_webhooks else None


def ensure_saved_urls_supported(services: Services) -> None:
    """Raise `DeprecatedWebhookRemoved` unless `NOTIFY_DEPRECATED_WH` is on."""
    if not services.settings.deprecated_webhooks:
        raise DeprecatedWebhookRemoved


async def save(work: Work, env: MerchantEnv, new: NewConfiguration) -> tuple[WebhookConfiguration, str | None]:
    """Save the configuration. Returns it, and a new secret if the environment had no active one."""
    ensure_saved_urls_supported(work.services)
    if field_errors := new.field_errors(env, work.services.settings):
        raise ValidationFailed(*field_errors)
    # Nothing below this line may refuse.
    await secrets.lock(work.tx, env)
    before = await store.get_configuration(work.tx, env)
    key = destination_key(env, new.url)
    await work.tx.execute(
        environments_store.SAVE, env.merchant_id, env.mode, new.url, key, new.event_types, new.enabled, work.now
    )
    if not new.enabled:
        await _cancel_pending(work.tx, env)
    state = await secrets.get_state(work.tx, env, work.now)
    secret = None if state.has_secret else await secrets.replace(work.tx, env, work.services.keys, work.now)
    saved = await store.get_configuration(work.tx, env)
    if saved is None:
        raise AssertionError("saved in this transaction")
    await record.event(work, env, "webhooks.saved", changed=changes(_audited_fields(before), _audited_fields(saved)))
    if secret is not None:
        await record.event(work, env, "webhooks.secret_replaced")
    return saved, secret


async def disable_delivery(work: Work, env: MerchantEnv) -> WebhookConfiguration | None:
    """Disable delivery in the environment and cancel pending events. URL, secret and history stay."""
    await secrets.lock(work.tx, env)
    was_enabled = await store.is_delivery_enabled(work.tx, env)
    await work.tx.execute(environments_store.DISABLE_DELIVERY, env.merchant_id, env.mode, work.now)
    await _cancel_pending(work.tx, env)
    if was_enabled:
        await record.event(work, env, "webhooks.off")
    return await get_configuration(work.tx, env, work.services)


async def enable_delivery(work: Work, env: MerchantEnv) -> None:
    """Enable delivery of new events. Canceled events stay canceled."""
    await secrets.lock(work.tx, env)
    await _switch_on(work, env)


async def rotate_secret(work: Work, env: MerchantEnv, overlap_hours: int = 0) -> str:
    """Replace the signing secret, also for pending retries. Returns the new one; the old one signs too in the overlap."""
    await secrets.lock(work.tx, env)
    await record.event(work, env, "webhooks.secret_replaced")
    return await secrets.replace(work.tx, env, work.services.keys, work.now, timedelta(hours=overlap_hours))


async def generate_secret(work: Work, env: MerchantEnv) -> str:
    """Create a secret that can be activated within the hour."""
    await secrets.lock(work.tx, env)
    await record.event(work, env, "webhooks.secret_prepared")
    return await secrets.generate(work.tx, env, work.services.keys, work.now)


async def activate_secret(work: Work, env: MerchantEnv, overlap_hours: int = 0) -> SecretStateView:
    """Activate the pending secret, if any, and enable delivery. The old one signs too during the overlap."""
    await secrets.lock(work.tx, env)
    await _switch_on(work, env)
    if await secrets.activate(work.tx, env, work.now, timedelta(hours=overlap_hours)):
        await record.event(work, env, "webhooks.secret_activated")
    return await get_secret_state(work.tx, env, work.now)


async def get_secret_state(db: Pool | Tx, env: MerchantEnv, now: datetime) -> SecretStateView:
    """Whether a secret is active, since when, and whether one is pending."""
    state = await secrets.get_state(db, env, now)
    return SecretStateView(state.has_secret, state.pending, stamp_or_none(state.activated_at))


async def send_test(work: Work, env: MerchantEnv, url: str, event_type: str = TEST_EVENT) -> WebhookEvent:
    """Record a test event for this address. The worker sends it once, in either mode.

    In test mode it may have any type, with the data of the API reference. In live mode, receivers would act on it.
    """
    field_errors = url_errors(url, env, work.services.settings)
    types: dict[str, EventType] = {test_type: test_type for test_type in test_types(env)}
    known = types.get(event_type)
    if known is None:
        field_errors.append(FieldError("type", "invalid_value", messages.A_CHOICE))
    if known is None or field_errors:
        raise ValidationFailed(*field_errors)
    data = TEST_DATA if event_type == TEST_EVENT else work.services.event_examples()[known]
    await secrets.lock(work.tx, env)  # serializes the rate limit
    await ensure_test_rate(work, env)
    if not (await secrets.get_state(work.tx, env, work.now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    return await _get_recorded(work.tx, env, await record_test(work, env, url, known, data))


def test_types(env: MerchantEnv) -> tuple[EventType, ...]:
    """The types of events that can be sent as a test in this environment."""
    return (TEST_EVENT,) if env.livemode else (TEST_EVENT, *EVENT_TYPES)


async def get_event(
    db: Pool, env: MerchantEnv, event_id: UUID, visible: Collection[str] | None = None
) -> tuple[WebhookEvent, list[DeliveryAttempt]]:
    """An event and its attempts, in one snapshot. Raises `NotFound`, also if its type is not visible."""
    async with db.connection() as tx, tx.snapshot():
        event = await _get_visible(tx, env, event_id, visible)
        return event, await store.list_attempts(tx, env, event_id)


async def redeliver(work: Work, env: MerchantEnv, event_id: UUID, visible: Collection[str] | None = None) -> WebhookEvent:
    """Send an event once more beside its schedule: same id and body, signed with the current secret."""
    event = await _get_visible(work.tx, env, event_id, visible)
    if not await store.is_delivery_enabled(work.tx, env):
        raise WebhookDeliveryDisabled
    url = event.destination_url
    if event.destination_source not in {"request", "test"}:
        saved = await get_configuration(work.tx, env, work.services)
        url = None if saved is None else saved.url
    if url is None:
        raise WebhookDestinationMissing
    if not (await secrets.get_state(work.tx, env, work.now)).has_secret:
        raise WebhookSecretMissing
    # Nothing below this line may refuse.
    await events_store.redeliver(work.tx, env, event_id, destination_key(env, url))
    return await _get_recorded(work.tx, env, event_id)


async def redeliver_unless_due(work: Work, env: MerchantEnv, event_id: UUID) -> None:
    """Redeliver unless an attempt is due or under way, so that a double click sends once."""
    await secrets.lock(work.tx, env)  # serializes double clicks
    if not await store.is_attempt_due(work.tx, env, event_id):
        await redeliver(work, env, event_id)


async def ensure_test_rate(work: Work, env: MerchantEnv) -> None:
    """Raise `RateLimited` after so many events to URLs of forms in a minute. The caller has the lock of the settings."""
    limit = work.services.settings.rate_webhook_test_per_min
    if not work.services.settings.rate_limits or not limit:
        return
    count, oldest = await store.count_tests_since(work.tx, env, work.now - TESTS_WINDOW)
    if count >= limit:
        # A concurrent test may have been recorded with a later time.
        raise RateLimited(min(oldest, work.now) + TESTS_WINDOW - work.now)


async def _cancel_pending(tx: Tx, env: MerchantEnv) -> None:
    await events_store.cancel_pending(tx, env)
    await replays_store.cancel_waiting(tx, env)


async def _switch_on(work: Work, env: MerchantEnv) -> None:
    if not await store.is_delivery_enabled(work.tx, env):
        await work.tx.execute(environments_store.ENABLE_DELIVERY, env.merchant_id, env.mode)
        await record.event(work, env, "webhooks.on")


def _audited_fields(configuration: WebhookConfiguration | None) -> Mapping[str, object]:
    """The fields whose changes the audit log shows."""
    if configuration is None:
        return {}
    fields = {"webhook_url": configuration.url, "event_types": configuration.event_types}
    return fields | {"delivery": "on" if configuration.enabled else "off"}


async def _get_visible(tx: Tx, env: MerchantEnv, event_id: UUID, visible: Collection[str] | None) -> WebhookEvent:
    """An event of one of these types; None for all. Raises `NotFound`."""
    event = await store.get_event(tx, env, event_id)
    if event is None or (visible is not None and event.type not in visible):
        raise NotFound
    return event


async def _get_recorded(tx: Tx, env: MerchantEnv, event_id: UUID) -> WebhookEvent:
    event = await store.get_event(tx, env, event_id)
    if event is None:
        raise AssertionError("read in this transaction")
    return event
