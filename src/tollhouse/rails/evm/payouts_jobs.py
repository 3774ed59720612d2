"""The background job of payouts on chains. Orders come through the provider, from withdrawals and refunds."""

import time
from datetime import datetime, timedelta
from pathlib import Path

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.platform.log.events import log
from tollhouse.rails import settings as rail_settings
from tollhouse.rails.evm import payout_checks, payout_health
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.payouts import CONTINUE_AFTER, CannotPrepare, ChainPayouts
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.signer.client import OfflineSigner, SignerClient, SignerUnavailable
from tollhouse.rails.json_rpc import NodeError
from tollhouse.transfers.gate import gate

BATCH_SIZE = 50
LEASE = timedelta(seconds=60)
RUN_S_MAX = 35
"""A run begins no payout later than this, so that it ends before its lease does."""


async def advance_payouts(services: Services) -> None:
    """Bring the payouts of every network that has a signer on by one step."""
    for network in services.rails.of(EvmNetwork):
        payouts = payouts_of(services, network)
        if payouts is not None:
            await _advance(services, network, payouts)


async def measure_payouts(services: Services) -> None:
    """Measure whether each network that has a signer can pay out."""
    for network in services.rails.of(EvmNetwork):
        payouts = payouts_of(services, network)
        if payouts is not None:
            await payout_health.measure(payouts, clock.now())


def payouts_of(services: Services, network: EvmNetwork) -> ChainPayouts | None:
    """The payouts of a network, which its provider has from now on. None without a signer or a node."""
    settings, current = network.settings, network.payouts
    node_url = rail_settings.current_secret(settings.node_url, settings.node_url_file)
    if node_url is None or not network.pays_out:
        return None
    if settings.offline_wallet is not None:
        signer = OfflineSigner(settings.offline_wallet, settings.chain_id)
    else:
        signer = SignerClient(Path(settings.signer_socket or ""))
    if isinstance(current, ChainPayouts) and current.reaches(services.db, node_url, signer.socket):
        return current
    payouts = ChainPayouts(services.db, services.catalogue, network, node_url, signer)
    network.payouts = payouts
    return payouts


async def _advance(services: Services, network: EvmNetwork, payouts: ChainPayouts) -> None:
    now, began = clock.now(), time.monotonic()
    due = await store.lease_due(services.db, network.name, network.mode, now, LEASE, BATCH_SIZE)
    if not due:
        return
    async with payouts.connected():
        for payout in sorted(due, key=_nonce):
            if time.monotonic() - began > RUN_S_MAX:
                return  # the rest is done when the lease ends
            await _advance_one(services, network, payouts, payout, now)


async def _advance_one(
    services: Services, network: EvmNetwork, payouts: ChainPayouts, payout: ChainPayout, now: datetime
) -> None:
    if payout.status == "reserved" and not await gate.may_submit(services.db, network):
        return
    try:
        await payout_checks.check(services, payouts, payout, now)
    except (NodeError, SignerUnavailable, CannotPrepare) as error:
        log.warning("payout_check_failed", part=network.name, detail=str(payout.id), reason=str(error))
        await store.check_later(services.db, payout.id, now + CONTINUE_AFTER, payout.reason)


def _nonce(payout: ChainPayout) -> int:
    """A node takes transactions in the order of their nonces."""
    return -1 if payout.nonce is None else payout.nonce
