"""What this package registers: see `http.slice`."""

from tollhouse.accounts.settings import api, notifications_api, projects_api
from tollhouse.http.slice import Slice

SLICE = Slice(
    operations=(
        *api.INTEGRATION_OPERATIONS,
        *projects_api.DASHBOARD_OPERATIONS,
        *notifications_api.OPERATIONS,
        *api.OPERATIONS,
    ),
)
