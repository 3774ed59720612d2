"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.ledger.hash_chain import jobs
from tollhouse.ledger.hash_chain.invariants_store import INVARIANTS

SLICE = Slice(jobs=(Job(HOURLY_S, jobs.append_blocks),), invariants=INVARIANTS)
