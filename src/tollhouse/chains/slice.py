"""What this package registers: see `http.slice`."""

from tollhouse.chains import payouts_jobs
from tollhouse.http.slice import Job, Slice

POLL_S = 1.0
SLICE = Slice(jobs=(Job(POLL_S, payouts_jobs.advance_payouts),))
