"""Whether a chain rail can pay out: the worker measures signer, gas and wallet, every process reads what it measured."""

from datetime import datetime
from typing import Any

from tollhouse.http.services import Services
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import store as chains_store
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.sending import WEI_PER_GWEI, GasPrice
from tollhouse.rails.evm.network_fees import fee_minor
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.signer.client import SignerUnavailable
from tollhouse.rails.evm.signer.messages import SigningRefused
from tollhouse.rails.json_rpc import NodeError

COIN_GAS, TRANSFER_GAS = 21_000, 65_000
"""What transfers of the coin and of a usual token need."""


async def measure(payouts: ChainPayouts, now: datetime) -> None:
    """Measure and store whether a network can pay out, and what its wallet has."""
    network, facts = payouts.network, dict[str, Any]()
    try:
        reason, empty = await _look(payouts, facts)
    except (NodeError, SignerUnavailable) as error:
        reason, empty = str(error), list[str]()
    if reason is not None:
        log.error("payouts_unavailable", part=network.name, reason=reason)
    waiting = await store.count_waiting(payouts.db, network.name, network.mode)
    facts["waiting"] = sum(waiting.values())
    down = sorted({*empty, *(currency for (currency, waits_for) in waiting if waits_for == "float")})
    await chains_store.save_payout_health(payouts.db, network.name, network.mode, reason, down, facts, now)


async def _look(payouts: ChainPayouts, facts: dict[str, Any]) -> tuple[str | None, list[str]]:
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


async def refresh(services: Services) -> None:
    """Read what the worker measured last."""
    for network in services.rails.of(ChainNetwork):
        network.payouts_measured = await chains_store.get_payout_health(services.db, network.name, network.mode)
