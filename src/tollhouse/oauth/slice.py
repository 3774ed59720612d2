"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.oauth import api, authorize, jobs, metadata, revoke, token

SLICE = Slice(
    operations=(
        *metadata.OPERATIONS,
        *token.OPERATIONS,
        *revoke.OPERATIONS,
        *authorize.OPERATIONS,
        *api.DASHBOARD_OPERATIONS,
    ),
    jobs=(
        Job(600, jobs.delete_requests),
        Job(HOURLY_S, jobs.delete_codes),
        Job(HOURLY_S, jobs.drop_token_partitions),
    ),
)
