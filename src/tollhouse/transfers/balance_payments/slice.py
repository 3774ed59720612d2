"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.transfers.balance_payments import api, dashboard_api, jobs
from tollhouse.transfers.balance_payments.invariants_store import INVARIANTS

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *dashboard_api.DASHBOARD_OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.expire_reservations),),
    invariants=INVARIANTS,
)
