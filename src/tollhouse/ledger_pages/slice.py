"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.ledger_pages import pages

SLICE = Slice(operations=tuple(pages.OPERATIONS))
