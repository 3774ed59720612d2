"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.webhooks.events import failing, retention, status
from tollhouse.webhooks.events.invariants_store import INVARIANTS

SLICE = Slice(
    jobs=(
        Job(6 * HOURLY_S, retention.drop_expired_months),
        Job(status.LOG_EVERY_S, status.log_status),
        Job(failing.LOOK_EVERY_S, failing.send_failing),
    ),
    invariants=INVARIANTS,
)
