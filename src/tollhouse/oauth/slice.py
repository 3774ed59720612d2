"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.oauth import (
    api,
    app_connection_pages,
    app_danger_pages,
    app_pages,
    app_settings_pages,
    authorize,
    connected_apps_pages,
    consent,
    jobs,
    metadata,
    revoke,
    token,
)

SLICE = Slice(
    operations=(
        *metadata.OPERATIONS,
        *token.OPERATIONS,
        *revoke.OPERATIONS,
        *authorize.OPERATIONS,
        *api.DASHBOARD_OPERATIONS,
        *consent.OPERATIONS,
        *app_pages.OPERATIONS,
        *app_settings_pages.OPERATIONS,
        *app_danger_pages.OPERATIONS,
        *app_connection_pages.OPERATIONS,
        *connected_apps_pages.OPERATIONS,
    ),
    jobs=(
        Job(600, jobs.delete_requests),
        Job(HOURLY_S, jobs.delete_codes),
        Job(HOURLY_S, jobs.drop_token_partitions),
    ),
)
