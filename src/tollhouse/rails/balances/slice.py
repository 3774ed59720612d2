"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Job, Slice
from tollhouse.rails.balances import measuring
from tollhouse.rails.balances.invariants_store import INVARIANTS

LOOK_EVERY_S = 5
SLICE = Slice(jobs=(Job(LOOK_EVERY_S, measuring.measure_balances),), invariants=INVARIANTS)
