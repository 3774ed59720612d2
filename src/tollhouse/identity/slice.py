"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.identity import cleaning

SLICE = Slice(
    jobs=(
        Job(60, cleaning.delete_failures),
        Job(HOURLY_S, cleaning.delete_sessions),
        Job(HOURLY_S, cleaning.delete_operator_sessions),
        Job(HOURLY_S, cleaning.delete_devices),
    ),
)
