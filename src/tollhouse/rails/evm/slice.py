"""What this package registers: see `http.slice`."""

from contextlib import nullcontext

from tollhouse.http.slice import CONTINUOUS_S, Job, Slice
from tollhouse.rails.evm import jobs, operator_payouts
from tollhouse.rails.evm.balances import NetworkReading
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.settings import EvmSettings
from tollhouse.rails.rail import Measurement, Rail, Table

ADVANCE_S, REFUSE_MARKED_S, MEASURE_S, COLLECT_S = 1, 5, 10, 60
SLICE = Slice(
    jobs=(
        Job(CONTINUOUS_S, jobs.watch),
        Job(ADVANCE_S, jobs.advance_payouts),
        Job(MEASURE_S, jobs.measure_payouts),
        Job(REFUSE_MARKED_S, operator_payouts.refuse_marked),
        Job(COLLECT_S, jobs.collect_deposits),
    )
)
RAIL = Rail(
    slice=SLICE,
    table=Table(EvmSettings, EvmNetwork),
    measurement=Measurement(EvmNetwork, lambda services, network, _: nullcontext(NetworkReading(services, network))),
)
