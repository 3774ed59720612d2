"""Webhook requests, views, filters and errors, and descriptions of the statuses of events and the errors of attempts."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tollhouse.http.bodies import ValidationContext
from tollhouse.http.lists import ListQuery, LongPageQuery
from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example, example_id
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import DELIVERY_DEADLINE_S, HELD_S, SECRET_OVERLAP_H_MAX
from tollhouse.kernel.text import Text, Translatable
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.database.records import Internal, Record
from tollhouse.platform.settings.config import Settings
from tollhouse.webhooks.events.destination import check_destination_url
from tollhouse.webhooks.events.record import EVENT_TYPES, EventType

STATUSES: dict[str, Translatable] = {
    "pending": "Waiting to be sent.",
    "retrying": "The last attempt failed. The next attempt is scheduled.",
    "delivered": "Delivered. The endpoint responded with a 2xx status.",
    "failed": "All attempts failed. No further attempt is scheduled.",
    "skipped": "Not sent: delivery was off, or there was no destination.",
    "canceled": "Not sent: delivery was turned off, or no signing secret was activated in time.",
    "held": Text("Waiting for a signing secret, for up to %(hours)s hours.", hours=HELD_S // 3600),
}
ERRORS: dict[str, Translatable] = {
    "dns_error": "The host name has no IPv4 address.",
    "connection_refused": "The endpoint refused the connection.",
    "connection_reset": "The endpoint closed the connection before it responded.",
    "connect_timeout": "The connection timed out.",
    "tls_error": "TLS failed: the certificate is untrusted, expired or for another host name.",
    "timeout": Text("The endpoint did not respond within %(seconds)s seconds.", seconds=DELIVERY_DEADLINE_S),
    "redirect_not_followed": "The endpoint responded with a redirect. Redirects are not followed.",
    "bad_response": "The response is not valid HTTP.",
    "blocked_destination": (
        "The address is in a private or reserved network, which TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS does not allow."
    ),
    "worker_lost": "The worker stopped before it recorded the result. The endpoint may have received the event.",
    "signing_secret_missing": "There is no usable signing secret. Events are never sent unsigned.",
}
NO_DESTINATION = "Not sent: the request had no webhook URL, and no URL was saved."
DELIVERY_OFF = "Not sent: delivery was turned off when the event happened."


class NewConfiguration(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of PUT /webhook: the URL for requests without `webhook_url`, and its event types."""

    url: Annotated[str, example("https://shop.example/hooks/tollhouse")]
    event_types: Annotated[list[str], example(["payment.succeeded", "payment.failed"])]
    enabled: Annotated[bool, example(True)] = True

    def rule_errors(self, context: ValidationContext) -> list[FieldError]:
        """The errors of each field."""
        return self.field_errors(context.caller.env, context.settings)

    def field_errors(self, env: MerchantEnv, settings: Settings) -> list[FieldError]:
        """The errors of each field."""
        field_errors = url_errors(self.url, env, settings)
        if not self.event_types:
            field_errors.append(FieldError("event_types", "empty", messages.items(1, None)))
        seen: set[str] = set()
        for place, name in enumerate(self.event_types):
            if name not in EVENT_TYPES:
                field_errors.append(FieldError(f"event_types.{place}", "unknown_event_type", messages.AN_EVENT_TYPE))
            elif name in seen:
                field_errors.append(FieldError(f"event_types.{place}", "duplicate", messages.NO_REPEAT))
            seen.add(name)
        return field_errors


class NewTestEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /webhook/test."""

    url: Annotated[str, example("https://shop.example/hooks/tollhouse")]


class SigningSecretRotation(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /webhook/rotate-secret."""

    overlap_hours: Annotated[int, Meta(ge=0, le=SECRET_OVERLAP_H_MAX), example(24)] = 0
    """Hours during which the old secret signs beside the new one."""


class TestSubject(Struct, frozen=True):
    """The object of a test event."""

    message: Annotated[str, example("This is a test event. Nothing happened.")]
    """Says that this is a test."""


class ModeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The environment of a dashboard request."""

    mode: Mode


EventStatus = Literal["pending", "retrying", "delivered", "failed", "skipped", "canceled", "held"]
"""State of a delivery.

pending: The first attempt is due.
retrying: An attempt failed, and another one follows.
delivered: The receiver accepted it.
failed: The last attempt failed.
skipped: It had no destination, or delivery was switched off.
canceled: Delivery was switched off before it was sent.
held: It waits for a signing secret.
"""


class ListEventsQuery(ListQuery, frozen=True):
    """Filters of GET /webhook-events. `resource_id` is the id of the event's object."""

    type: list[EventType] | None = None
    status: list[EventStatus] | None = None
    resource_id: UUID | None = None


class EventsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&type=&page=` of the events page. Empty matches all; an unknown name matches nothing."""

    status: str = ""
    type: str = ""

    @property
    def filters(self) -> bool:
        """Whether a filter is set."""
        return bool(self.status or self.type)


class WebhookConfiguration(Struct, frozen=True):
    """The saved configuration. `secret` is set only in the response that created it."""

    url: Annotated[str, example("https://shop.example/hooks/tollhouse")]
    event_types: Annotated[list[str], example(["payment.succeeded", "payment.failed"])]
    enabled: bool
    has_secret: bool
    """Whether a signing secret is active."""
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    secret: str | UnsetType = UNSET
    """Signing secret; only in the response that created it."""


class SecretView(Struct, frozen=True):
    """A new signing secret, shown once."""

    secret: Annotated[str, example("whsec_… (shown once)")]
    """The new signing secret; it is shown in this response only."""


class SecretStateView(Struct, frozen=True):
    """Whether a secret is active, since when, and whether another one is pending."""

    has_secret: bool
    """Whether a signing secret is active."""
    pending: bool
    """Whether a new secret waits to be activated."""
    activated_at: Timestamp | None
    """When the active secret was activated; null without one."""


class DeliveryAttempt(Struct, frozen=True):
    """A finished attempt to deliver an event."""

    attempt: Annotated[int, example(1)]
    """Number of the attempt, from 1."""
    status: Annotated[str, example("succeeded")]
    """`succeeded` or `failed`."""
    error: str | None
    """Why the attempt failed; null if it succeeded."""
    timestamp: Timestamp
    """When the attempt ended."""
    http_status: Annotated[int | None, example(204)]
    """Status of the receiver's response; null without one."""
    duration_ms: Annotated[int, example(41)]
    """How long the attempt took, in milliseconds."""
    trigger: Annotated[str, example("automatic")]
    """`automatic`, or who asked for the delivery."""


NOT_SENT = frozenset(
    {"signing_secret_missing", "blocked_destination", "dns_error", "connection_refused", "connect_timeout", "tls_error"}
)
"""Errors before anything was sent."""


class AttemptExchange(Struct, frozen=True, kw_only=True):
    """An attempt as it was sent and answered. There are no request headers if nothing was sent.

    `response_headers` is None without a response or if it was not recorded, `response_body` also if it is not text.
    """

    attempt: int
    request_headers: dict[str, str]
    http_status: int | None
    response_headers: dict[str, str] | None
    response_body: str | None


class WebhookEvent(Struct, frozen=True, kw_only=True):
    """An event and its delivery."""

    id: UUID
    type: Annotated[str, example("payment.succeeded")]
    """Type of the event."""
    env: MerchantEnv
    created_at: datetime
    destination_url: Annotated[str | None, example("https://shop.example/hooks/tollhouse")]
    """URL that the event is sent to; null without one."""
    status: Annotated[str, example("delivered")]
    """State of the delivery."""
    attempts: Annotated[int, example(1)]
    """Number of attempts so far."""
    next_attempt_at: datetime | None
    """When the next attempt is due; null if there is none."""
    delivered_at: Annotated[datetime | None, example("2026-11-21T09:30:00.000Z")]
    """When the receiver accepted it; null before."""
    body: Internal[bytes]
    destination_source: Internal[str]
    request_id: Internal[UUID | None] = None
    """The request that caused it, by the ID that the service gave it; None for a job."""

    @property
    def payload(self) -> bytes:
        """The exact body that is sent."""
        return unpack(self.body)


EVENT = Record(WebhookEvent, "webhook_events")


@view_of(WebhookEvent)
class EventView(RecordView, frozen=True, kw_only=True):
    """An event and its delivery. `payload` is the exact body that is sent."""

    id: Annotated[str, example(example_id("event_id"))]
    payload: Annotated[msgspec.Raw, After("delivered_at")]
    """The exact body that is sent."""


@view_of(WebhookEvent)
class EventWithHistory(RecordView, frozen=True, kw_only=True):
    """An event with its attempts in order."""

    id: Annotated[str, example(example_id("event_id"))]
    payload: Annotated[msgspec.Raw, After("delivered_at")]
    """The exact body that is sent."""
    delivery_history: Annotated[list[DeliveryAttempt], After("payload")]
    """Every attempt, oldest first."""


def event_view(event: WebhookEvent, catalogue: Catalogue) -> EventView:
    """An event."""
    return EventView.of(event, catalogue, id=str(event.id), payload=msgspec.Raw(event.payload))


def event_with_history(event: WebhookEvent, history: list[DeliveryAttempt], catalogue: Catalogue) -> EventWithHistory:
    """An event and its attempts."""
    return EventWithHistory.of(
        event, catalogue, id=str(event.id), payload=msgspec.Raw(event.payload), delivery_history=history
    )


class EventList(Struct, frozen=True):
    """A page of events, newest first."""

    webhook_events: list[EventView]
    has_more: bool
    next_cursor: str | None


class DeprecatedWebhookRemoved(ApiError):
    """410: saved URLs are no longer supported."""

    code, status = "deprecated_webhook_removed", 410
    message = "Saved webhook URLs are no longer supported. Send webhook_url with each request."
    solution = "Send `webhook_url` with each request that creates an object."


class WebhookSecretMissing(ApiError):
    """409: no signing secret is active."""

    code, status, message = "webhook_secret_missing", 409, "This environment has no active webhook signing secret."
    solution = "Generate and activate a signing secret."


class WebhookDeliveryDisabled(ApiError):
    """409: delivery is disabled in the environment."""

    code, status, message = "webhook_delivery_disabled", 409, "Webhook delivery is turned off in this environment."
    solution = "Turn webhook delivery on in the settings."


class WebhookDestinationMissing(ApiError):
    """409: neither the event nor the configuration has a URL."""

    code, status, message = "webhook_destination_missing", 409, "This event has no destination URL."
    solution = "Send the event to a URL that you save, or create objects with `webhook_url`."


def url_errors(url: str, env: MerchantEnv, settings: Settings) -> list[FieldError]:
    """The errors of a URL that need no DNS."""
    message = check_destination_url(url, livemode=env.livemode, settings=settings)
    return [] if message is None else [FieldError("url", "invalid_url", message)]


def describe_status(status: str, destination_url: str | None) -> Translatable:
    """What the status of an event means, and why a skipped one was not sent."""
    if status == "skipped":
        return NO_DESTINATION if destination_url is None else DELIVERY_OFF
    return STATUSES[status]


def describe_error(error: str | None) -> Translatable:
    """A description of an attempt's error; empty without an error."""
    if error is None:
        return ""
    status = error.removeprefix("http_")
    if status == error:
        return ERRORS.get(error, "")
    return Text("The endpoint responded with status %(status)s. Only 200 to 299 counts as delivered.", status=status)
