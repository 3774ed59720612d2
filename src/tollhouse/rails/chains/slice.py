"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Job, Slice
from tollhouse.rails.chains import following
from tollhouse.rails.chains.store import INVARIANTS

SLICE = Slice(jobs=(Job(following.REFRESH_EVERY_S, following.refresh),), invariants=INVARIANTS)
