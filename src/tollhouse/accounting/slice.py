"""What this package registers: see `http.slice`."""

from tollhouse.accounting import jobs
from tollhouse.accounting.invariants_store import INVARIANTS
from tollhouse.http.slice import Job, Slice

SLICE = Slice(jobs=(Job(jobs.EVERY_S, jobs.add_daily_totals),), invariants=INVARIANTS)
