"""What this package registers: see `http.slice`."""

from tollhouse.events.balances import Cause
from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import Slice
from tollhouse.ledger.views import BalanceView, EntryView
from tollhouse.outgoing.invariants_store import INVARIANTS

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
