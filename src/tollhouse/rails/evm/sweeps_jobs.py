"""The background job that collects deposits: by the worker that follows the chain."""

from datetime import datetime

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import store
from tollhouse.rails.chains.model import HOLDER, LEASE
from tollhouse.rails.evm import sweeps
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.payouts import CannotPrepare
from tollhouse.rails.evm.payouts_jobs import payouts_of
from tollhouse.rails.evm.signer.client import SignerUnavailable
from tollhouse.rails.json_rpc import NodeError
from tollhouse.transfers.gate import gate


async def collect_deposits(services: Services) -> None:
    """Collect on every network whose settings say above which amount."""
    for network in services.rails.of(EvmNetwork):
        if network.settings.sweep_above:
            await collect_once(services, network, clock.now())


async def collect_once(services: Services, network: EvmNetwork, now: datetime) -> None:
    """Collect on a network, unless another worker follows it, or payouts are paused."""
    payouts = payouts_of(services, network)
    if payouts is None or not await gate.may_submit(services.db, network):
        return
    is_ours, cursor = await store.lease(services.db, network.name, network.mode, HOLDER, now, LEASE)
    if not is_ours or cursor is None:
        return
    try:
        await sweeps.collect(payouts, cursor, now)
    except (NodeError, SignerUnavailable, CannotPrepare) as error:  # what was reserved is continued like a payout
        log.warning("sweeps_stopped", part=network.name, reason=str(error))
