"""What this package registers: see `http.slice`."""

from tollhouse.fulfillments import api, jobs, new_pages, pages
from tollhouse.fulfillments.invariants_store import INVARIANTS
from tollhouse.http.slice import CONTINUOUS_S, Job, Slice

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *pages.OPERATIONS, *new_pages.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.deliver),),
    invariants=INVARIANTS,
)
