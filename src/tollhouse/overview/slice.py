"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.overview import pages

SLICE = Slice(operations=tuple(pages.OPERATIONS))
