"""Records an event in the transaction that causes it. The body is encoded once, here.

A new type of event is added to `EventType`; the slice that records it describes it in its `slice.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import HELD_S
from tollhouse.kernel.scopes import Scopes
from tollhouse.platform.database.packed_json import WrittenValues, pack_value
from tollhouse.platform.database.wakeups import wakeups
from tollhouse.platform.log import changed_objects
from tollhouse.webhooks.events import store
from tollhouse.webhooks.events.destination import destination_key

TEST_EVENT = "webhook.test"
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
EVENT_TYPES: tuple[EventType, ...] = tuple(event_type for event_type in get_args(EventType) if event_type != TEST_EVENT)
"""The types that a saved address can subscribe to; the test event is sent on request only."""
READ_SCOPES: Mapping[str, str] = {
    "payment": "payments:read",
    "balance": "balances:read",
    "withdrawal": "withdrawals:read",
    "conversion": "conversions:read",
    "webhook": "webhooks:read",
}
"""The scope that reads the object of an event, by the first word of its type."""
API_VERSION = "v2"
HELD_FOR = timedelta(seconds=HELD_S)


class EventSource(Struct, frozen=True):
    """The object that changed: its type, its ID, and the version that rises with each of its changes."""

    type: str
    id: UUID
    version: int


class BalancePosting(Struct, frozen=True):
    """A posting that is written with the event: only then are the balance and its entries known."""

    currency: str
    transaction_id: UUID
    entry_ids: Sequence[UUID]


BALANCE = WrittenValues(store.BALANCE_VALUES)
"""The balance after the posting that an event is recorded with."""


def balance_entry(index: int) -> WrittenValues:
    """One of the entries of such a posting."""
    return WrittenValues(store.ENTRY_VALUES, len(store.BALANCE_VALUES) + index * len(store.ENTRY_VALUES))


def types_of(scopes: Scopes) -> list[EventType]:
    """The types of events whose objects these scopes read."""
    return [name for name in (*EVENT_TYPES, TEST_EVENT) if READ_SCOPES[name.partition(".")[0]] in scopes]


async def record(
    work: Work,
    env: MerchantEnv,
    event_type: EventType,
    source: EventSource,
    data: Mapping[str, Any],
    destination_url: str | None = None,
) -> UUID:
    """Record an event, and its delivery if it is to be sent. Returns the event's id.

    `data` has the resource as GET returns it as `object`, and what stands beside it. `destination_url` is the `webhook_url`
    of the request, already checked; without it, the saved address applies in compatibility mode. Recording the same change
    of an object twice violates a constraint. The event has the ID of the request that the work is done for.
    """
    return await _insert(work, env, new_id(), event_type, source, data, destination_url)


async def record_test(work: Work, env: MerchantEnv, url: str, event_type: EventType, data: Mapping[str, Any]) -> UUID:
    """Record a test event for this address, which is sent once in either mode. Returns its id.

    An event of another type than `webhook.test` has the member `test` in its `data`, so that it is not taken for real.
    """
    event_id = new_id()
    source = EventSource("webhook_test", event_id, 1)
    marked = data if event_type == TEST_EVENT else {**data, "test": True}
    return await _insert(work, env, event_id, event_type, source, marked, url, kind="test")


async def record_with_posting(
    work: Work, env: MerchantEnv, posting: BalancePosting, data: Mapping[str, Any], destination_url: str | None
) -> None:
    """Record `balance.updated` with a posting. The database fills in the `WrittenValues`, which only the posting knows.

    A posting with other entries than these is a serialization failure, after which the action runs again.
    """
    event_id = new_id()
    _wake_sender(work, destination_url)
    await work.tx.write(
        store.RECORD_BALANCE,
        event_id,
        env.merchant_id,
        env.mode,
        posting.currency,
        posting.transaction_id,
        posting.entry_ids,
        pack_value(payload(event_id, env, "balance.updated", BALANCE.number("version"), data, work.now)),
        *_destination(env, destination_url),
        work.services.settings.deprecated_webhooks,
        work.now,
        HELD_FOR,
        work.actor.request_id,
    )


async def _insert(
    work: Work,
    env: MerchantEnv,
    event_id: UUID,
    event_type: EventType,
    source: EventSource,
    data: Mapping[str, Any],
    destination_url: str | None,
    *,
    kind: Literal["request", "test"] = "request",
) -> UUID:
    changed_objects.note(source.id)
    _wake_sender(work, destination_url)
    await work.tx.write(
        store.RECORD,
        event_id,
        env.merchant_id,
        env.mode,
        event_type,
        source.type,
        source.id,
        source.version,
        pack_value(payload(event_id, env, event_type, source.version, data, work.now)),
        *_destination(env, destination_url),
        kind,
        work.services.settings.deprecated_webhooks,
        work.now,
        HELD_FOR,
        work.actor.request_id,
    )
    return event_id


def _wake_sender(work: Work, destination_url: str | None) -> None:
    """Wake the sender when the connection is returned, if the event may have a destination."""
    if destination_url is not None or work.services.settings.deprecated_webhooks:
        work.tx.on_release = wakeups(work.services.settings.data_dir).send


def _destination(env: MerchantEnv, url: str | None) -> tuple[str | None, int | None]:
    """The address of the request and its key."""
    return url, None if url is None else destination_key(env, url)


def payload(
    event_id: UUID, env: MerchantEnv, event_type: str, sequence: int, data: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """The payload as it is signed and sent. Of its data, `object` comes first."""
    return {
        "id": event_id,
        "type": event_type,
        "created_at": stamp(now),
        "mode": env.mode,
        "livemode": env.livemode,
        "api_version": API_VERSION,
        "sequence": sequence,
        "data": {"object": data["object"], **data},
    }
