"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.rails.cards import jobs, webhook_api
from tollhouse.rails.cards.balance_store import INVARIANTS

SETTLE_EVERY_S = 5
SLICE = Slice(
    operations=tuple(webhook_api.OPERATIONS),
    jobs=(
        Job(CONTINUOUS_S, jobs.apply_events),
        Job(CONTINUOUS_S, jobs.poll_payments),
        Job(SETTLE_EVERY_S, jobs.read_balance_transactions),
        Job(HOURLY_S, jobs.poll_disputes),
        Job(HOURLY_S, jobs.read_balance_transactions_again),
        Job(HOURLY_S, jobs.delete_old_events),
    ),
    invariants=INVARIANTS,
)
