"""What this package registers: see `http.slice`."""

from tollhouse.accounts.merchants import api
from tollhouse.http.slice import Slice

SLICE = Slice(
    operations=(*api.DASHBOARD_OPERATIONS, *api.INTEGRATION_OPERATIONS),
)
