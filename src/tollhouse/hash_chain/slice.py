"""What this package registers: see `http.slice`."""

from tollhouse.hash_chain import jobs
from tollhouse.hash_chain.invariants_store import INVARIANTS
from tollhouse.http.slice import HOURLY_S, Job, Slice

SLICE = Slice(jobs=(Job(HOURLY_S, jobs.append_blocks),), invariants=INVARIANTS)
