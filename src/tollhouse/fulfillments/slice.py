"""What this package registers: see `http.slice`."""

from tollhouse.fulfillments import api, jobs
from tollhouse.fulfillments.invariants_store import INVARIANTS
from tollhouse.http.slice import CONTINUOUS_S, Job, Slice

SLICE = Slice(
    operations=tuple(api.INTEGRATION_OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.deliver),),
    invariants=INVARIANTS,
)
