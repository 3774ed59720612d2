"""What this package registers: see `http.slice`."""

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.rails.bitcoin import jobs
from tollhouse.rails.bitcoin.balances import open_wallet
from tollhouse.rails.bitcoin.batches_store import INVARIANTS
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.settings import BitcoinSettings
from tollhouse.rails.rail import Measurement, Rail, Table

ADVANCE_S, MEASURE_S = 1, 10
SLICE = Slice(
    jobs=(Job(CONTINUOUS_S, jobs.watch), Job(ADVANCE_S, jobs.advance_batches), Job(MEASURE_S, jobs.measure_batches)),
    invariants=INVARIANTS,
)
RAIL = Rail(
    slice=SLICE,
    table=Table(BitcoinSettings, BitcoinNetwork),
    measurement=Measurement(BitcoinNetwork, lambda services, network, _: open_wallet(services.db, network)),
)
