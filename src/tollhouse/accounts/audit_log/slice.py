"""What this package registers: see `http.slice`."""

from tollhouse.accounts.audit_log import jobs
from tollhouse.http.slice import HOURLY_S, Job, Slice

SLICE = Slice(
    jobs=(Job(HOURLY_S, jobs.delete_old_events),),
)
