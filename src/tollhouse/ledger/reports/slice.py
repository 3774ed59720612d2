"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.ledger.reports import api

SLICE = Slice(operations=tuple(api.INTEGRATION_OPERATIONS))
