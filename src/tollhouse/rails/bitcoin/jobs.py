"""Orders in bitcoin, and the background jobs: batches are drafted, sent and watched, and what can be paid is measured."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import PayoutOrder, PayoutState, RefundOrder, Submission
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.rails.batches.model import OrderKind
from tollhouse.rails.bitcoin import batches_store as store
from tollhouse.rails.bitcoin import payouts_store, watching
from tollhouse.rails.bitcoin.network import psbt
from tollhouse.rails.bitcoin.network.node import BitcoinNode
from tollhouse.rails.bitcoin.network.provider import CURRENCY, BitcoinNetwork
from tollhouse.rails.bitcoin.payouts_store import BitcoinPayout
from tollhouse.rails.bitcoin.sending import SATOSHIS_PER_VBYTE, TARGET_BLOCKS, BatchSender
from tollhouse.rails.chains import following
from tollhouse.rails.chains import store as chains_store
from tollhouse.rails.json_rpc import NodeError

BATCH_SIZE = 20
LEASE = timedelta(seconds=60)
"""How long a worker keeps a batch: longer than a node takes to answer."""
USUAL_VBYTES = 141
"""The size of a transaction with one input, one payment and change."""


class BitcoinPayouts:
    """The orders of one rail, for its provider in the worker."""

    def __init__(self, db: Pool, network: BitcoinNetwork) -> None:
        self.db, self.network = db, network

    async def submit(self, kind: OrderKind, order: PayoutOrder | RefundOrder) -> Submission:
        """Accept an order. `rejected` where it was refused, or where the network would not relay it."""
        stored = await payouts_store.get(self.db, order.id)
        if stored is None:
            least = psbt.dust_limit(self.network.settings.network, order.receiver)
            if least is None:
                return Submission("rejected", failure_code="receiver_invalid")
            if order.amount_minor < least:
                return Submission("rejected", failure_code="payout_declined")
            await payouts_store.insert(self.db, self._new(kind, order), clock.now())
        elif stored.status == "failed":
            return Submission("rejected", failure_code="payout_declined")
        return Submission("accepted", order.id.hex)

    async def state(self, order_id: UUID) -> PayoutState:
        """What became of an order. It is charged its share of the network fee."""
        payout = await payouts_store.get(self.db, order_id)
        if payout is None:
            return PayoutState("absent")
        if payout.status == "failed":
            return PayoutState("failed", "payout_declined")
        if payout.status == "completed":
            return PayoutState("succeeded", tx_hash=payout.txid, network_fee_minor=payout.fee_minor)
        return PayoutState("pending")

    def _new(self, kind: OrderKind, order: PayoutOrder | RefundOrder) -> BitcoinPayout:
        return BitcoinPayout(
            id=order.id,
            kind=kind,
            rail=self.network.name,
            mode=self.network.mode,
            currency=order.currency,
            address=self.network.account_of(order.receiver),
            amount_minor=order.amount_minor,
        )


async def watch(services: Services) -> None:
    """Follow each rail of Bitcoin whose turn it is, unless another worker does."""
    for network in services.rails.of(BitcoinNetwork):
        await following.watch(services, network, watching.look, network.settings.poll_interval_s)


async def advance_batches(services: Services) -> None:
    """Bring the batches of every rail of Bitcoin that pays out on by one step."""
    for network in accepting(services):
        await advance_once(services, network, clock.now())


async def advance_once(services: Services, network: BitcoinNetwork, now: datetime) -> None:
    """Bring the batches of a rail on that are due."""
    due = await store.lease_due(services.db, network.name, network.mode, now, LEASE, BATCH_SIZE)
    if not due:
        return
    try:
        async with watching.open_node(network) as (node, state):
            sender = BatchSender(services, network, node, state.blocks, now)
            for batch in due:
                await sender.advance(batch)
    except NodeError as error:  # again when the lease ends
        log.warning("payout_batch_waits", part=network.name, reason=str(error))


async def measure_batches(services: Services) -> None:
    """Measure whether each rail of Bitcoin that has payouts can pay out."""
    for network in accepting(services):
        await measure_once(services, network, clock.now())


async def measure_once(services: Services, network: BitcoinNetwork, now: datetime) -> None:
    """Measure and store whether a rail can pay out, and what it has."""
    db, name, mode = services.db, network.name, network.mode
    available_minor = await store.sum_available(db, name, mode)
    waiting, waiting_minor = await payouts_store.sum_waiting(db, name, mode)
    facts: dict[str, Any] = {"balances": {CURRENCY: str(available_minor)}, "waiting": waiting}
    try:
        async with watching.open_node(network) as (node, _):
            reason = await _measure_fee(network, node, facts)
    except NodeError as error:
        reason = str(error)
    if reason is not None:
        log.error("payouts_unavailable", part=name, reason=reason)
    down = [] if available_minor > waiting_minor else [CURRENCY]
    await chains_store.save_payout_health(db, name, mode, reason, down, facts, now)


def accepting(services: Services) -> list[BitcoinNetwork]:
    """The rails that pay out, whose providers accept orders in this process from now on."""
    found = [
        network for network in services.rails.of(BitcoinNetwork) if network.pays_out and network.settings.xpub is not None
    ]
    found = [network for network in found if network.settings.read_node_url() is not None]
    for network in found:
        if network.payouts is None:
            network.payouts = BitcoinPayouts(services.db, network)
    return found


async def _measure_fee(network: BitcoinNetwork, node: BitcoinNode, facts: dict[str, Any]) -> str | None:
    """Why nothing can be paid out; None if it can."""
    rate = await node.fee_rate(TARGET_BLOCKS)
    if rate is None:
        return "the node cannot estimate the network fee"
    facts["fee_per_vbyte"] = rate / SATOSHIS_PER_VBYTE
    fee_minor = -(-rate * USUAL_VBYTES // SATOSHIS_PER_VBYTE)
    facts["fees"] = {CURRENCY: {"currency": CURRENCY, "amount_minor": fee_minor}}
    return "the network fee is more than the maximum" if rate > network.settings.fee_rate_max * SATOSHIS_PER_VBYTE else None
