"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.payments.receipts import jobs
from tollhouse.payments.receipts.invariants_store import INVARIANTS

SLICE = Slice(jobs=(Job(CONTINUOUS_S, jobs.send_waiting),), invariants=INVARIANTS)
