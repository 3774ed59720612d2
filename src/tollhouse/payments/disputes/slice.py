"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.payments.disputes import api, jobs

SLICE = Slice(
    operations=tuple(api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.deliver_responses), Job(CONTINUOUS_S, jobs.expire_disputes)),
)
