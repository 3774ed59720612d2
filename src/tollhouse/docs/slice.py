"""What this package registers: see `http.slice`."""

from tollhouse.docs import pages
from tollhouse.http.slice import Slice

SLICE = Slice(operations=tuple(pages.OPERATIONS))
