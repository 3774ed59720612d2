"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.transfers.conversions import api, jobs, rules_api
from tollhouse.transfers.conversions.invariants_store import INVARIANTS
from tollhouse.transfers.conversions.views import ConversionView

FEED_S = 10
"""How often the worker asks whether the source of prices is due."""
SLICE = Slice(
    operations=(*api.OPERATIONS, *rules_api.OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.apply_rules), Job(FEED_S, jobs.read_prices), Job(HOURLY_S, jobs.delete_old_quotes)),
    invariants=INVARIANTS,
    events=(EventSpec(type="conversion.completed", description="A conversion was completed.", objects=(ConversionView,)),),
)
