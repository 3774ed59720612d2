"""What this package registers: see `http.slice`."""

from tollhouse.audit_log import cleaning
from tollhouse.http.slice import HOURLY_S, Job, Slice

SLICE = Slice(
    jobs=(Job(HOURLY_S, cleaning.delete_old_events),),
)
