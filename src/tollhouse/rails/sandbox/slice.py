"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.rails.sandbox import api, jobs, withdrawals_api

SLICE = Slice(
    operations=(*api.OPERATIONS, *withdrawals_api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.run_plans),),
)
