"""What can happen, by name. A saved address chooses from these; the test event is sent only where a test asks for it."""

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
