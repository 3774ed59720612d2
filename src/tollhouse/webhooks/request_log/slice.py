"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.webhooks.request_log import retention

SLICE = Slice(
    jobs=(Job(HOURLY_S, retention.drop_days),),
)
