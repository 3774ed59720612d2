"""What this package registers: see `http.slice`."""

from tollhouse.events import retention, status
from tollhouse.events.balances import Cause
from tollhouse.events.invariants_store import INVARIANTS
from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.ledger.views import BalanceView, EntryView

SLICE = Slice(
    jobs=(Job(6 * HOURLY_S, retention.drop_expired_months), Job(status.LOG_EVERY_S, status.log_status)),
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
