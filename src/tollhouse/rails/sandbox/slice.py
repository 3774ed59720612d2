"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.rails.rail import Rail
from tollhouse.rails.sandbox import api, simulator
from tollhouse.rails.sandbox.provider import SANDBOX

SLICE = Slice(
    operations=tuple(api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, simulator.run_plans),),
)
RAIL = Rail(slice=SLICE, built_in=lambda _: SANDBOX)
