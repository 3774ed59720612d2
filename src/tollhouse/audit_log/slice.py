"""What this package registers: see `http.slice`."""

from tollhouse.audit_log import cleaning, pages
from tollhouse.http.slice import HOURLY_S, Job, Slice

SLICE = Slice(
    operations=tuple(pages.OPERATIONS),
    jobs=(Job(HOURLY_S, cleaning.delete_old_events),),
)
