"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.transfers.withdrawals import api, batches_api, jobs, recipients_api, schedules_api
from tollhouse.transfers.withdrawals.invariants_store import INVARIANTS
from tollhouse.transfers.withdrawals.views import WithdrawalView

SCHEDULES_S = 5.0
SLICE = Slice(
    operations=(
        *api.OPERATIONS,
        *recipients_api.OPERATIONS,
        *batches_api.OPERATIONS,
        *schedules_api.OPERATIONS,
    ),
    jobs=(
        Job(CONTINUOUS_S, jobs.advance_withdrawals),
        Job(SCHEDULES_S, jobs.run_schedules),
        Job(HOURLY_S, jobs.delete_old_quotes),
    ),
    invariants=INVARIANTS,
    events=(
        EventSpec(type="withdrawal.processing", description="A withdrawal is being sent.", objects=(WithdrawalView,)),
        EventSpec(type="withdrawal.completed", description="A withdrawal was sent.", objects=(WithdrawalView,)),
        EventSpec(
            type="withdrawal.failed",
            description="A withdrawal was rejected or returned. The amount is in the balance again.",
            objects=(WithdrawalView,),
        ),
    ),
)
