"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel.limits import HEARTBEAT_EVERY_S
from tollhouse.pages.console import (
    accounting_pages,
    application_pages,
    bitcoin_payout_pages,
    delivery_pages,
    jobs,
    merchant_pages,
    pages,
    payout_pages,
    people_pages,
    positions,
    project_pages,
    rail_pages,
    review_pages,
    statement_pages,
    transfer_pages,
)
from tollhouse.pages.console.overview_store import INVARIANTS

SLICE = Slice(
    operations=(
        *pages.OPERATIONS,
        *merchant_pages.OPERATIONS,
        *people_pages.OPERATIONS,
        *application_pages.OPERATIONS,
        *project_pages.OPERATIONS,
        *delivery_pages.OPERATIONS,
        *review_pages.OPERATIONS,
        *statement_pages.OPERATIONS,
        *transfer_pages.OPERATIONS,
        *payout_pages.OPERATIONS,
        *accounting_pages.OPERATIONS,
        *positions.OPERATIONS,
        *rail_pages.OPERATIONS,
        *bitcoin_payout_pages.OPERATIONS,
    ),
    jobs=(
        Job(HEARTBEAT_EVERY_S, jobs.record_heartbeat),
        Job(HOURLY_S, jobs.delete_heartbeats),
        Job(HOURLY_S, jobs.delete_old_failures),
    ),
    invariants=INVARIANTS,
)
