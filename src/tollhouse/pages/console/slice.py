"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, HOURLY_S, Job, Slice
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
    positions,
    project_pages,
    rail_pages,
    review_pages,
    statement_pages,
    transfer_pages,
)
from tollhouse.pages.console.overview_store import INVARIANTS
from tollhouse.rails.bank import upload_jobs
from tollhouse.rails.evm import operator_payouts as network_payouts

CHANNEL_S = 5
"""How often the folders of the channel to the bank are looked at, and exported batches sent."""

REFUSE_MARKED_S = 5
"""How often payouts on networks that operators want refused are."""

SLICE = Slice(
    operations=(
        *pages.OPERATIONS,
        *merchant_pages.OPERATIONS,
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
        Job(CONTINUOUS_S, upload_jobs.import_statements),
        Job(CHANNEL_S, upload_jobs.fetch_from_bank),
        Job(CHANNEL_S, upload_jobs.send_to_bank),
        Job(REFUSE_MARKED_S, network_payouts.refuse_marked),
        Job(HOURLY_S, upload_jobs.delete_old_announcements),
        Job(HOURLY_S, jobs.delete_heartbeats),
        Job(HOURLY_S, jobs.delete_old_failures),
    ),
    invariants=INVARIANTS,
)
