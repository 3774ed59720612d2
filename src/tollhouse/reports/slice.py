"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.reports import api, pages

SLICE = Slice(operations=(*api.INTEGRATION_OPERATIONS, *pages.OPERATIONS))
