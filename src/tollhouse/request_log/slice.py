"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.request_log import pages, retention

SLICE = Slice(
    operations=tuple(pages.OPERATIONS),
    jobs=(Job(HOURLY_S, retention.drop_days),),
)
