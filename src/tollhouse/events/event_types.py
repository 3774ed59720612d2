"""The event types. A saved address subscribes to some of them; the test event is sent on request only."""

EVENT_TYPES = (
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
)
TEST_EVENT = "webhook.test"
