"""What this package registers: see `http.slice`."""

from tollhouse.bank.invariants_store import INVARIANTS
from tollhouse.http.slice import Slice

SLICE = Slice(invariants=INVARIANTS)
