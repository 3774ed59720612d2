"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.webhooks.delivery import jobs
from tollhouse.webhooks.events.invariants_store import INVARIANTS

SLICE = Slice(
    jobs=(
        Job(6 * HOURLY_S, jobs.drop_expired_months),
        Job(jobs.LOG_EVERY_S, jobs.log_status),
        Job(jobs.FAILING_EVERY_S, jobs.send_failing),
    ),
    invariants=INVARIANTS,
)
