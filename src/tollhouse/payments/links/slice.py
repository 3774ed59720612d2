"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.payments.links import api, catalogue_api

SLICE = Slice(operations=(*api.OPERATIONS, *catalogue_api.OPERATIONS))
