"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.settings import api, logo_pages, projects_api

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *projects_api.DASHBOARD_OPERATIONS, *logo_pages.OPERATIONS),
)
