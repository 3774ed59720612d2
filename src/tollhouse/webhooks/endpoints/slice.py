"""What this package registers: see `http.slice`."""

from tollhouse.http.openapi_webhooks import EventSpec
from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
from tollhouse.webhooks.endpoints import api, feed_api, replays, runs
from tollhouse.webhooks.endpoints.model import TestSubject

SLICE = Slice(
    operations=(*api.INTEGRATION_OPERATIONS, *feed_api.OPERATIONS, *api.DASHBOARD_OPERATIONS),
    jobs=(
        Job(CONTINUOUS_S, runs.run_redeliveries),
        Job(CONTINUOUS_S, replays.send_waiting),
        Job(HOURLY_S, runs.delete_old_runs),
        Job(HOURLY_S, replays.delete_old),
    ),
    events=(
        EventSpec(
            type="webhook.test",
            description="A test event, sent once on request.",
            objects=(TestSubject,),
            after=("send_test_event",),
        ),
    ),
)
