"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import Slice
from tollhouse.ledger.books.views import BalanceView, EntryView
from tollhouse.transfers.gate.invariants_store import INVARIANTS
from tollhouse.transfers.orders.balance_events import Cause

SLICE = Slice(
    invariants=INVARIANTS,
    events=(
        EventSpec(
            type="balance.updated",
            description="A balance changed. The payload has the ledger entries and their source.",
            objects=(BalanceView,),
            beside={"source": Cause, "entries": list[EntryView]},
        ),
    ),
)
