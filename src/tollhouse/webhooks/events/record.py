"""Records an event in the transaction that causes it. The body is encoded once, here."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import HELD_S
from tollhouse.platform.database.packed_json import pack
from tollhouse.platform.database.wakeups import wakeups
from tollhouse.platform.log import changed_objects
from tollhouse.webhooks.events import store
from tollhouse.webhooks.events.destination import destination_key
from tollhouse.webhooks.events.event_types import TEST_EVENT, EventType

API_VERSION = "v2"
HELD_FOR = timedelta(seconds=HELD_S)
ENCODER = msgspec.json.Encoder()


class NewEvent(Struct, frozen=True):
    """A change of an object. `object` is the resource as GET returns it; `sequence` rises per object.

    `destination_url` is the `webhook_url` of the request, already checked; `extra` stands beside `object` in the payload.
    """

    type: EventType
    source_type: str
    source_id: UUID
    sequence: int
    object: Any
    destination_url: str | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


async def record(work: Work, env: MerchantEnv, event: NewEvent) -> UUID:
    """Insert the event, and its delivery if it is to be sent, with the deferred writes. Returns the event's id.

    The destination is the request's address, else the saved one in compatibility mode. Recording the same change of an
    object twice violates a constraint. The event has the ID of the request that the work is done for.
    """
    return await _insert(work, env, event, source="request")


async def record_test(work: Work, env: MerchantEnv, url: str, event_type: EventType, data: Mapping[str, Any]) -> UUID:
    """Insert a test event for this address, which is sent once in either mode. Returns its id.

    An event of another type than `webhook.test` has the member `test` in its `data`, so that it is not taken for real.
    """
    event_id = new_id()
    extra = {name: value for name, value in data.items() if name != "object"}
    if event_type != TEST_EVENT:
        extra["test"] = True
    event = NewEvent(event_type, "webhook_test", event_id, 1, data["object"], destination_url=url, extra=extra)
    return await _insert(work, env, event, source="test")


async def _insert(work: Work, env: MerchantEnv, event: NewEvent, *, source: Literal["request", "test"]) -> UUID:
    event_id = event.source_id if source == "test" else new_id()
    if event.type != "balance.updated":  # of an entry, whose ledger transaction notes the object
        changed_objects.note(event.source_id)
    wake_sender(work, event.destination_url)
    await work.tx.defer(
        store.RECORD,
        event_id,
        env.merchant_id,
        env.mode,
        event.type,
        event.source_type,
        event.source_id,
        event.sequence,
        pack(encode_payload(event_id, env, event, work.now)),
        event.destination_url,
        None if event.destination_url is None else destination_key(env, event.destination_url),
        source,
        work.services.settings.deprecated_webhooks,
        work.now,
        HELD_FOR,
        work.actor.request_id,
    )
    return event_id


def wake_sender(work: Work, destination_url: str | None) -> None:
    """Wake the sender when the connection is returned, if the event may have a destination."""
    if destination_url is not None or work.services.settings.deprecated_webhooks:
        work.tx.on_release = wakeups(work.services.settings.data_dir).send


def encode_payload(event_id: UUID, env: MerchantEnv, event: NewEvent, now: datetime) -> bytes:
    """The payload as it is signed and sent."""
    return ENCODER.encode(
        {
            "id": event_id,
            "type": event.type,
            "created_at": stamp(now),
            "mode": env.mode,
            "livemode": env.livemode,
            "api_version": API_VERSION,
            "sequence": event.sequence,
            "data": {"object": event.object, **event.extra},
        }
    )
