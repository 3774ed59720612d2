"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import Slice
from tollhouse.rails.bank.invariants_store import INVARIANTS

SLICE = Slice(invariants=INVARIANTS)
