"""The saved configuration, events as answers show them, what can be asked, and how it is refused."""

from typing import Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tollhouse.events.destination import check_destination_url
from tollhouse.events.event_types import EVENT_TYPES
from tollhouse.http.bodies import RequestFacts
from tollhouse.http.lists import ListQuery
from tollhouse.http.paging import PageQuery
from tollhouse.kernel import messages
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.ids import Mode
from tollhouse.platform.config import Settings


class NewConfiguration(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of PUT: where events of requests without an address of their own go, and which."""

    url: str
    event_types: list[str]
    enabled: bool = True

    def rule_errors(self, facts: RequestFacts) -> list[FieldError]:
        """What is wrong with it, field by field."""
        return self.field_errors(facts.caller.env, facts.settings)

    def field_errors(self, env: MerchantEnv, settings: Settings) -> list[FieldError]:
        """What is wrong with it, field by field."""
        field_errors = url_faults(self.url, env, settings)
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


class TestAddress(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a test: where the test event goes."""

    url: str


class InMode(Struct, frozen=True, forbid_unknown_fields=True):
    """The environment that a person at the dashboard means."""

    mode: Mode


EventStatus = Literal["pending", "retrying", "delivered", "failed", "skipped", "canceled", "held"]
EventType = Literal[
    "payment.succeeded",
    "payment.failed",
    "payment.expired",
    "payment.refund_required",
    "payment.refunded",
    "payment.chargeback",
    "balance.updated",
    "withdrawal.processing",
    "withdrawal.completed",
    "withdrawal.failed",
    "conversion.completed",
    "webhook.test",
]


class ListedEventsQuery(ListQuery, frozen=True):
    """Filters of GET /webhook-events. `resource_id` is of the object that an event is about."""

    type: list[EventType] | None = None
    status: list[EventStatus] | None = None
    resource_id: UUID | None = None


class EventsQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&type=&page=` of the page of events. Empty is no filter; a name that there is not matches nothing."""

    status: str = ""
    type: str = ""

    @property
    def filters(self) -> bool:
        """Whether not every event is meant."""
        return bool(self.status or self.type)


class Configuration(Struct, frozen=True):
    """The saved configuration. `secret` is there only in the first answer of PUT, and only when it made one."""

    url: str
    event_types: list[str]
    enabled: bool
    has_secret: bool
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    secret: str | UnsetType = UNSET


class SecretView(Struct, frozen=True):
    """A signing secret, the only time it is shown."""

    secret: str


class SecretStateView(Struct, frozen=True):
    """Whether a secret signs, since when, and whether another one waits to be activated."""

    has_secret: bool
    pending: bool
    activated_at: Timestamp | None


class Attempt(Struct, frozen=True):
    """One finished attempt to deliver an event."""

    attempt: int
    status: str
    error: str | None
    timestamp: Timestamp
    http_status: int | None
    duration_ms: int
    trigger: str


class EventView(Struct, frozen=True, kw_only=True):
    """An event and its delivery. `payload` is, byte for byte, what was or will be sent."""

    id: str
    type: str
    mode: Mode
    livemode: bool
    created_at: Timestamp
    destination_url: str | None
    status: str
    attempts: int
    next_attempt_at: Timestamp | None
    delivered_at: Timestamp | None
    payload: msgspec.Raw


class EventWithHistory(EventView, frozen=True, kw_only=True):
    """An event with every attempt to deliver it, in order."""

    delivery_history: list[Attempt]


class EventList(Struct, frozen=True):
    """A page of events, newest first."""

    webhook_events: list[EventView]
    has_more: bool
    next_cursor: str | None


class DeprecatedWebhookRemoved(ApiError):
    """410: saved addresses are a thing of the past."""

    code, status = "deprecated_webhook_removed", 410
    message = "Saved webhook addresses are no longer supported. Send webhook_url with each request."


class WebhookSecretMissing(ApiError):
    """409: there is no active secret, and nothing is ever sent unsigned."""

    code, status, message = "webhook_secret_missing", 409, "This environment has no active webhook signing secret."


class WebhookDeliveryDisabled(ApiError):
    """409: delivery is switched off for the whole environment."""

    code, status, message = "webhook_delivery_disabled", 409, "Webhook delivery is disabled in this environment."


class WebhookDestinationMissing(ApiError):
    """409: the event has no address of its own, and no saved address counts."""

    code, status, message = "webhook_destination_missing", 409, "There is no address this event could be sent to."


def url_faults(url: str, env: MerchantEnv, settings: Settings) -> list[FieldError]:
    """What is wrong with an address, as far as its text shows."""
    sentence = check_destination_url(url, livemode=env.livemode, settings=settings)
    return [] if sentence is None else [FieldError("url", "invalid_url", sentence)]
