"""What this package registers: see `http.slice`."""

from tollhouse.checkout import pages, receipt_pages
from tollhouse.http.slice import Slice

SLICE = Slice(operations=(*pages.OPERATIONS, *receipt_pages.OPERATIONS))
