"""What this package registers: see `http.slice`."""

from tollhouse.accounts.settings import api, projects_api
from tollhouse.http.slice import Slice

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *projects_api.DASHBOARD_OPERATIONS, *api.OPERATIONS),
)
