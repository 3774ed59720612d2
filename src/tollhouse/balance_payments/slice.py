"""What this package registers: see `http.slice`."""

from tollhouse.balance_payments import api, dashboard_api, jobs
from tollhouse.balance_payments.invariants_store import INVARIANTS
from tollhouse.http.slice import CONTINUOUS_S, Job, Slice

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *dashboard_api.DASHBOARD_OPERATIONS),
    jobs=(Job(CONTINUOUS_S, jobs.expire_reservations),),
    invariants=INVARIANTS,
)
