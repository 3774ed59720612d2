"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.sandbox import api, jobs, sample_pages

SLICE = Slice(
    operations=(*api.OPERATIONS, *sample_pages.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.run_plans),),
)
