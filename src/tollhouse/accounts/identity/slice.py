"""What this package registers: see `http.slice`."""

from tollhouse.accounts.identity import jobs
from tollhouse.http.slice import HOURLY_S, Job, Slice

SLICE = Slice(
    jobs=(
        Job(60, jobs.delete_failures),
        Job(HOURLY_S, jobs.delete_sessions),
        Job(HOURLY_S, jobs.delete_operator_sessions),
        Job(HOURLY_S, jobs.delete_devices),
    ),
)
