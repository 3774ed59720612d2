"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.merchants import api

SLICE = Slice(
    operations=(*api.DASHBOARD_OPERATIONS, *api.INTEGRATION_OPERATIONS),
)
