"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.rails.cards import payments, webhook_api
from tollhouse.rails.cards.balance_store import INVARIANTS

SETTLE_EVERY_S = 5
SLICE = Slice(
    operations=tuple(webhook_api.OPERATIONS),
    jobs=(
        Job(CONTINUOUS_S, payments.apply_events),
        Job(CONTINUOUS_S, payments.poll_payments),
        Job(SETTLE_EVERY_S, payments.read_balance_transactions),
        Job(HOURLY_S, payments.poll_all_disputes),
        Job(HOURLY_S, payments.read_balance_transactions_again),
        Job(HOURLY_S, payments.delete_old_events),
    ),
    invariants=INVARIANTS,
)
