"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.ledger.books.invariants_store import INVARIANTS

SLICE = Slice(invariants=INVARIANTS)
