"""What this package registers: see `http.slice`."""

from tollhouse.accounts.settings import api, projects_api
from tollhouse.accounts.settings import api as logo_pages
from tollhouse.http.slice import Slice

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *projects_api.DASHBOARD_OPERATIONS, *logo_pages.OPERATIONS),
)
