"""The background jobs of EVM networks: blocks are followed, payouts advanced, looked up and measured, deposits collected."""

import time
from datetime import datetime, timedelta
from typing import Any

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import following
from tollhouse.rails.chains import store as chains_store
from tollhouse.rails.chains.model import HOLDER, LEASE
from tollhouse.rails.evm import network_fees, sweeps
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.node import EvmNode, number_of
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.network.sending import WEI_PER_GWEI, ChainTransfer, GasPrice, SentReceipt
from tollhouse.rails.evm.network_fees import fee_minor
from tollhouse.rails.evm.payouts import CONTINUE_AFTER, CannotPrepare, ChainPayouts, payouts_of
from tollhouse.rails.evm.payouts_model import OPEN, ChainPayout, ChainTransaction, MinedTransfer
from tollhouse.rails.evm.signer.client import SignerUnavailable
from tollhouse.rails.evm.signer.messages import SigningRefused
from tollhouse.rails.evm.watcher import look
from tollhouse.rails.json_rpc import NodeError
from tollhouse.transfers.gate import gate

UNCLEAR = "the token reports no transfer"
UNCLEAR_AGAIN_AFTER = timedelta(hours=1)
SEND_AGAIN_AFTER = timedelta(seconds=60)
"""Nodes forget transactions that wait. Sending the same bytes again changes nothing where they do not."""
COIN_GAS, TRANSFER_GAS = 21_000, 65_000
"""What transfers of the coin and of a usual token need."""
BATCH_SIZE = 50
RUN_S_MAX = 35
"""A run begins no payout later than this, so that it ends before its lease does."""


async def check(services: Services, payouts: ChainPayouts, payout: ChainPayout, now: datetime) -> None:
    """Bring a leased payout on by one step. Raises `NodeError`, `SignerUnavailable` and `CannotPrepare`."""
    if payout.status == "reserved":
        prepared = await payouts.prepare(payout, now)
        if prepared.status == "signed":
            await payouts.broadcast(prepared, now)
        return
    if payout.status not in OPEN:
        return
    async with payouts.connected() as node:
        transactions = await store.list_transactions(payouts.db, payout.id)
        finality = payouts.network.settings.finality
        for receipt in await sending.find_receipts(node, [transaction.tx_hash for transaction in transactions]):
            final = await sending.final_above(node, receipt, finality)
            if final is not None:
                await _record(services, payouts, payout, receipt, final, now)
                return
        final = await sending.final_block(node, finality)
        await _bring_into_block(payouts, node, payout, transactions[-1], final, now)


async def _record(
    services: Services, payouts: ChainPayouts, payout: ChainPayout, receipt: SentReceipt, final: int, now: datetime
) -> None:
    coin, number = payouts.network.settings.coin, number_of(receipt.block_number)
    mined = MinedTransfer(receipt.transaction_hash, number, receipt.block_hash, receipt.fee_wei)
    transfer = ChainTransfer(payout.wallet or "", payout.receiver, payout.contract, payout.amount_units)
    if number > final:
        next_check_at = now + timedelta(seconds=payouts.network.settings.poll_interval_s)
        await store.record_mined(payouts.db, payout.id, mined, now, next_check_at)
    elif receipt.was_reverted:
        await services.transact(lambda work: network_fees.fail(work, payout, coin, mined, "reverted"), now)
        log.warning("payout_reverted", part=payout.rail, detail=f"{payout.id} {mined.tx_hash}")
    elif transfer.arrived(receipt):
        await services.transact(lambda work: network_fees.complete(work, payout, coin, mined), now)
        log.info("payout_completed", part=payout.rail, detail=f"{payout.id} {mined.tx_hash}")
    else:  # a token that says neither; the money may have moved, so it is not given back
        await store.record_mined(payouts.db, payout.id, mined, now, now + UNCLEAR_AGAIN_AFTER, UNCLEAR)
        log.error("payout_unclear", part=payout.rail, detail=f"{payout.id} {mined.tx_hash}")


async def _bring_into_block(
    payouts: ChainPayouts, node: EvmNode, payout: ChainPayout, newest: ChainTransaction, final: int, now: datetime
) -> None:
    settings = payouts.network.settings
    if payout.status == "mined":
        await store.unmine(payouts.db, payout.id, now)
        log.warning("payout_reorganized", part=payout.rail, detail=str(payout.id))
    await store.check_later(payouts.db, payout.id, now + timedelta(seconds=settings.poll_interval_s), payout.reason)
    if await sending.count_sent(node, payout.wallet or "", hex(final)) > (payout.nonce or 0):
        # Perhaps this node is behind the one that had no receipt. If it stays so, somebody else has used the key.
        log.error("payout_nonce_used_elsewhere", part=payout.rail, detail=str(payout.id))
        return
    if newest.sent_at is None or payout.status == "mined" or now - newest.sent_at > SEND_AGAIN_AFTER:
        await payouts.broadcast(payout, now)
    if payout.kind == "sweep":  # nobody waits for it: it stays as it is until gas is cheap enough
        return
    is_due = now - newest.signed_at > timedelta(seconds=settings.replace_after_s)
    if is_due and await store.first_unmined(payouts.db, payout) == payout.id:
        await payouts.replace(node, payout, now)


async def measure(payouts: ChainPayouts, now: datetime) -> None:
    """Measure and store whether a network can pay out, and what its wallet has."""
    network, facts = payouts.network, dict[str, Any]()
    try:
        reason, empty = await _measure_wallet(payouts, facts)
    except (NodeError, SignerUnavailable) as error:
        reason, empty = str(error), list[str]()
    if reason is not None:
        log.error("payouts_unavailable", part=network.name, reason=reason)
    waiting = await store.count_waiting(payouts.db, network.name, network.mode)
    facts["waiting"] = sum(waiting.values())
    down = sorted({*empty, *(currency for (currency, waits_for) in waiting if waits_for == "float")})
    await chains_store.save_payout_health(payouts.db, network.name, network.mode, reason, down, facts, now)


async def _measure_wallet(payouts: ChainPayouts, facts: dict[str, Any]) -> tuple[str | None, list[str]]:
    """Why nothing can be paid out, and what the wallet has nothing of. Raises `NodeError` and `SignerUnavailable`."""
    network = payouts.network
    wallet = await payouts.signer.describe_wallet(network.name)
    if isinstance(wallet, SigningRefused):
        return wallet.message, []
    facts |= {"wallet": wallet.address, "sweep_to": wallet.sweep_to, "balances": {}}
    if not payouts.signer.is_offline:
        facts["next_nonce"] = wallet.next_nonce
    async with payouts.connected() as node:
        if not network.settings.chain_id == wallet.chain_id == await node.quantity("eth_chainId"):
            return "node, signer and rails file disagree about the chain", []
        price = await sending.read_price(node)
        facts["fee_per_gas_wei"] = price.fee_per_gas
        facts["fees"] = await _fees(payouts, wallet.address, price)
        balances = {
            asset.currency: await sending.read_balance(node, wallet.address, asset.contract)
            for asset in network.assets.values()
        }
    facts["balances"] = {currency: str(units) for currency, units in balances.items()}
    if price.fee_per_gas > network.settings.fee_per_gas_max_gwei * WEI_PER_GWEI:
        return "gas costs more than the maximum", []
    if balances[network.settings.coin] < price.fee_per_gas * TRANSFER_GAS:
        return "the wallet has too little for fees", []
    return None, [currency for currency, units in balances.items() if units == 0]


async def _fees(payouts: ChainPayouts, wallet: str, price: GasPrice) -> dict[str, dict[str, Any]]:
    """What the network takes for a payout of each currency, in the smallest unit of its coin in the ledger."""
    network, coin = payouts.network, payouts.network.settings.coin
    latest = await store.latest_gas(payouts.db, network.name, network.mode, wallet)
    fees: dict[str, dict[str, Any]] = {}
    for asset in network.assets.values():
        gas = latest.get(asset.contract, COIN_GAS if asset.contract is None else TRANSFER_GAS)
        fees[asset.currency] = {
            "currency": coin,
            "amount_minor": fee_minor(gas * price.usual_per_gas, coin, payouts.catalogue),
        }
    return fees


async def watch(services: Services) -> None:
    """Follow each network whose turn it is, unless another worker does."""
    for network in services.rails.of(EvmNetwork):
        await following.watch(services, network, look, network.settings.poll_interval_s)


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
            await measure(payouts, clock.now())


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
    is_ours, cursor = await chains_store.lease(services.db, network.name, network.mode, HOLDER, now, LEASE)
    if not is_ours or cursor is None:
        return
    try:
        await sweeps.collect(payouts, cursor, now)
    except (NodeError, SignerUnavailable, CannotPrepare) as error:  # what was reserved is continued like a payout
        log.warning("sweeps_stopped", part=network.name, reason=str(error))


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
        await check(services, payouts, payout, now)
    except (NodeError, SignerUnavailable, CannotPrepare) as error:
        log.warning("payout_check_failed", part=network.name, detail=str(payout.id), reason=str(error))
        await store.check_later(services.db, payout.id, now + CONTINUE_AFTER, payout.reason)


def _nonce(payout: ChainPayout) -> int:
    """A node takes transactions in the order of their nonces."""
    return -1 if payout.nonce is None else payout.nonce
