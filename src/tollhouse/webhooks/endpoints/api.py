"""Webhook operations of the Integration API, and signing secrets in the dashboard API."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.identity.guards import CredentialGuard, scope, signed_in
from tollhouse.accounts.identity.model import Caller, Person
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.http.lists import PageRequest
from tollhouse.http.operations import DASHBOARD, INTEGRATION, Deprecated, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool
from tollhouse.webhooks.endpoints import actions, store
from tollhouse.webhooks.endpoints.feed_model import visible_types
from tollhouse.webhooks.endpoints.model import (
    DeprecatedWebhookRemoved,
    EventList,
    EventView,
    EventWithHistory,
    ListEventsQuery,
    ModeQuery,
    NewConfiguration,
    NewTestEvent,
    SecretStateView,
    SecretView,
    SigningSecretRotation,
    WebhookConfiguration,
    WebhookDeliveryDisabled,
    WebhookDestinationMissing,
    WebhookSecretMissing,
    event_view,
    event_with_history,
)
from tollhouse.webhooks.endpoints.store import EventFilter

INTEGRATION_OPERATIONS = Operations(INTEGRATION)
DASHBOARD_OPERATIONS = Operations(DASHBOARD)
READ = scope("webhooks:read")
WRITE = scope("webhooks:write")
SAVED_ADDRESSES = Deprecated(datetime(2026, 11, 1, tzinfo=UTC), "/docs/webhooks#saved-addresses")


class SavedAddressCredential(CredentialGuard):
    """A credential for saving a URL, while saved URLs are supported."""

    async def admit(self, request: Request) -> Caller:
        """Check the credential, then raise `DeprecatedWebhookRemoved` whatever the body is."""
        caller = await super().admit(request)
        actions.ensure_saved_urls_supported(request.services)
        return caller


@INTEGRATION_OPERATIONS.add("GET", "/webhook", guard=READ, deprecated=SAVED_ADDRESSES)
async def read_configuration(caller: Caller, db: Pool, services: Services) -> WebhookConfiguration | None:
    """Retrieve the webhook configuration. Null before the first PUT and after the end of compatibility."""
    return await actions.get_configuration(db, caller.env, services)


@INTEGRATION_OPERATIONS.add(
    "PUT",
    "/webhook",
    guard=SavedAddressCredential("webhooks:write"),
    errors=(DeprecatedWebhookRemoved, ValidationFailed),
    deprecated=SAVED_ADDRESSES,
)
async def save_configuration(caller: Caller, body: NewConfiguration, work: Work) -> WebhookConfiguration:
    """Save the webhook configuration. The first answer includes the new signing secret."""
    saved, secret = await actions.save(work, caller.env, body)
    return saved if secret is None else msgspec.structs.replace(saved, secret=secret)


@INTEGRATION_OPERATIONS.add("DELETE", "/webhook", guard=WRITE)
async def switch_delivery_off(caller: Caller, work: Work) -> WebhookConfiguration | None:
    """Turn off webhook delivery. Applies to the current environment."""
    return await actions.disable_delivery(work, caller.env)


@INTEGRATION_OPERATIONS.add("POST", "/webhook/rotate-secret", guard=WRITE, errors=(ValidationFailed,))
async def rotate_secret(caller: Caller, body: SigningSecretRotation, work: Work) -> SecretView:
    """Rotate the signing secret. The new value is returned once."""
    return SecretView(await actions.rotate_secret(work, caller.env, body.overlap_hours))


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/webhook/test",
    guard=WRITE,
    status=202,
    idempotency="honoured",
    errors=(ValidationFailed, RateLimited, WebhookSecretMissing),
)
async def send_test_event(caller: Caller, body: NewTestEvent, work: Work) -> EventView:
    """Send a test event. It is signed, sent once to the given URL, and recorded."""
    return event_view(await actions.send_test(work, caller.env, body.url), work.services.catalogue)


@INTEGRATION_OPERATIONS.add("GET", "/webhook-events", guard=READ, errors=(ValidationFailed,))
async def list_events(
    caller: Caller, query: ListEventsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> EventList:
    """List events. They have their delivery status; newest first."""
    event_filter = EventFilter(query.status, visible_types(caller, query.type), query.resource_id)
    shown, more, cursor = page.cut(await store.list_events(db, caller.env, event_filter, page.window))
    return EventList([event_view(event, catalogue) for event in shown], more, cursor)


@INTEGRATION_OPERATIONS.add("GET", "/webhook-events/{event_id}", guard=READ, errors=(NotFound,))
async def read_event(caller: Caller, event_id: UUID, db: Pool, catalogue: Catalogue) -> EventWithHistory:
    """Retrieve an event. It has its delivery history."""
    event, history = await actions.get_event(db, caller.env, event_id, visible_types(caller))
    return event_with_history(event, history, catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/webhook-events/{event_id}/redeliver",
    guard=WRITE,
    status=202,
    idempotency="required",
    errors=(NotFound, WebhookDeliveryDisabled, WebhookDestinationMissing, WebhookSecretMissing),
)
async def redeliver_event(caller: Caller, event_id: UUID, work: Work) -> EventView:
    """Redeliver an event."""
    event = await actions.redeliver(work, caller.env, event_id, visible_types(caller))
    return event_view(event, work.services.catalogue)


@DASHBOARD_OPERATIONS.add("GET", "/webhook-secret", guard=signed_in("read"), errors=(ValidationFailed,))
async def read_secret_state(caller: Person, query: ModeQuery, db: Pool, now: datetime) -> SecretStateView:
    """Retrieve the state of the signing secret. Says whether one is active, and whether another one waits."""
    return await actions.get_secret_state(db, caller.env(query.mode), now)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/webhook-secret/generate",
    guard=signed_in("developers"),
    errors=(ValidationFailed,),
    recent_authentication="live",
)
async def generate_secret(caller: Person, body: ModeQuery, work: Work) -> SecretView:
    """Generate a signing secret. It is shown once, and can be activated for an hour."""
    return SecretView(await actions.generate_secret(work, caller.env(body.mode)))


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/webhook-secret/activate",
    guard=signed_in("developers"),
    errors=(ValidationFailed,),
    recent_authentication="live",
)
async def activate_secret(caller: Person, body: ModeQuery, work: Work) -> SecretStateView:
    """Activate the signing secret. Also turns delivery on."""
    return await actions.activate_secret(work, caller.env(body.mode))
