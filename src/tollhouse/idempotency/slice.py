"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.idempotency import jobs

SLICE = Slice(jobs=(Job(HOURLY_S, jobs.delete_old_keys),))
