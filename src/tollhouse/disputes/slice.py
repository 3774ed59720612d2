"""What this package registers: see `http.slice`."""

from tollhouse.disputes import api, jobs
from tollhouse.http.slice import CONTINUOUS_S, Job, Slice

SLICE = Slice(
    operations=tuple(api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.deliver_responses), Job(CONTINUOUS_S, jobs.expire_disputes)),
)
