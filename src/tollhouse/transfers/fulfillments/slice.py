"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.transfers.fulfillments import api, jobs
from tollhouse.transfers.fulfillments.invariants_store import INVARIANTS

SLICE = Slice(
    operations=tuple(api.INTEGRATION_OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.deliver),),
    invariants=INVARIANTS,
)
