"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.identity import jobs

SLICE = Slice(
    jobs=(
        Job(60, jobs.delete_failures),
        Job(HOURLY_S, jobs.delete_sessions),
        Job(HOURLY_S, jobs.delete_operator_sessions),
        Job(HOURLY_S, jobs.delete_devices),
    ),
)
