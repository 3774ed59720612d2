"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.rails import chain_health, chain_jobs
from tollhouse.rails.bitcoin import payouts_jobs as bitcoin_payouts_jobs
from tollhouse.rails.evm import payouts_jobs, sweeps_jobs
from tollhouse.rails.evm.invariants_store import INVARIANTS

ADVANCE_S, MEASURE_S, COLLECT_S = 1, 10, 60
SLICE = Slice(
    jobs=(
        Job(CONTINUOUS_S, chain_jobs.watch),
        Job(chain_health.REFRESH_EVERY_S, chain_health.refresh),
        Job(ADVANCE_S, payouts_jobs.advance_payouts),
        Job(MEASURE_S, payouts_jobs.measure_payouts),
        Job(ADVANCE_S, bitcoin_payouts_jobs.advance_batches),
        Job(MEASURE_S, bitcoin_payouts_jobs.measure_batches),
        Job(COLLECT_S, sweeps_jobs.collect_deposits),
    ),
    invariants=INVARIANTS,
)
