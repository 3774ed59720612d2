"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.rails.sandbox import api, simulator

SLICE = Slice(
    operations=tuple(api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, simulator.run_plans),),
)
