"""What this package registers: see `http.slice`."""

from tollhouse.chains import payouts_jobs
from tollhouse.http.slice import Job, Slice

ADVANCE_S, MEASURE_S = 1, 10
SLICE = Slice(jobs=(Job(ADVANCE_S, payouts_jobs.advance_payouts), Job(MEASURE_S, payouts_jobs.measure_payouts)))
