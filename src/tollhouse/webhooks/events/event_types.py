"""The event types. A saved address subscribes to some of them; the test event is sent on request only."""

from typing import Literal, get_args

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
EVENT_TYPES: tuple[EventType, ...] = tuple(one for one in get_args(EventType) if one != TEST_EVENT)
