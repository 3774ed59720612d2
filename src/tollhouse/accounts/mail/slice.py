"""What this package registers: see `http.slice`."""

from tollhouse.accounts.mail import jobs
from tollhouse.http.slice import HOURLY_S, Job, Slice

SLICE = Slice(jobs=(Job(1, jobs.send_due), Job(HOURLY_S, jobs.delete_emails)))
