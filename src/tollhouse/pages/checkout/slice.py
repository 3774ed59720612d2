"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.pages.checkout import pages, receipt_pages

SLICE = Slice(operations=(*pages.OPERATIONS, *receipt_pages.OPERATIONS))
