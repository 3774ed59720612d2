"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Job, Slice
from tollhouse.ledger.accounting import jobs
from tollhouse.ledger.accounting.invariants_store import INVARIANTS

SLICE = Slice(jobs=(Job(jobs.EVERY_S, jobs.add_daily_totals),), invariants=INVARIANTS)
