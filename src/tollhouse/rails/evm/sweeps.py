"""Collects deposits: what is at the addresses of closed payments is sent to the one address that the signer allows.

A sweep is prepared and sent by the same steps as a payout, with the nonces of its own address. Tokens need coin at their
address for gas: it is sent from the wallet that pays, and the sweep follows when that is final. Both are rows of
`chain_payouts` before anything is signed, so the watcher knows them, and none is taken for a deposit.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Literal
from uuid import UUID
from weakref import WeakKeyDictionary

import asyncpg
from msgspec import Struct

from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.chains.model import Cursor
from tollhouse.rails.evm import payouts_store, sweeps_store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.blocks import BlockReader
from tollhouse.rails.evm.network.node import COIN_DECIMALS, EvmNode
from tollhouse.rails.evm.network.provider import Asset, EvmNetwork
from tollhouse.rails.evm.network.sending import WEI_PER_GWEI, ChainTransfer, GasPrice, WouldRevert
from tollhouse.rails.evm.payouts import CONTINUE_AFTER, CannotPrepare, ChainPayouts
from tollhouse.rails.evm.payouts_model import ChainPayout, NewChainPayout
from tollhouse.rails.evm.signer.messages import GasTerms, SigningRefused
from tollhouse.rails.evm.sweeps_store import Collectable, WaitingSweep
from tollhouse.rails.json_rpc import NodeCallError

AT_ONCE = 20
"""Addresses of a currency that are looked at in one round."""
AGAIN_AFTER = timedelta(minutes=15)
"""When what the signer refused is tried again, with the balance and the price of gas of then."""
_PLACES: "WeakKeyDictionary[EvmNetwork, dict[str, str]]" = WeakKeyDictionary()
"""The address that was looked at last, by currency: each round goes on behind it, and begins again after the last one."""


class SweepTerms(Struct, frozen=True):
    """Where sweeps go, what gas costs, and the final block up to which deposits are known."""

    sweep_to: str
    price: GasPrice
    cursor: Cursor
    reserve_wei: int


async def collect(payouts: ChainPayouts, cursor: Cursor, now: datetime) -> None:
    """Collect on a network that the caller follows. Raises `NodeError`, `SignerUnavailable` and `CannotPrepare`."""
    network = payouts.network
    async with payouts.connected() as node:
        wallet = await payouts.signer.describe_wallet(network.name)
        if isinstance(wallet, SigningRefused):
            raise CannotPrepare(wallet.message)
        if not network.settings.chain_id == wallet.chain_id == await node.quantity("eth_chainId"):
            raise CannotPrepare("node, signer and rails file disagree about the chain")
        price = await sending.read_price(node)
        if price.fee_per_gas > network.settings.sweep_fee_per_gas_max_gwei * WEI_PER_GWEI:
            return
        terms = SweepTerms(wallet.sweep_to, price, cursor, units_of(network.settings.sweep_reserve, COIN_DECIMALS))
        sweeper = Sweeper(payouts, node, terms, now)
        await sweeper.give_up_waiting()
        for asset in sorted(network.assets.values(), key=lambda asset: asset.contract is None):  # tokens need the coin
            if asset.currency in network.settings.sweep_above:
                await sweeper.collect(asset)


class Sweeper:
    """One round on one network."""

    def __init__(self, payouts: ChainPayouts, node: EvmNode, terms: SweepTerms, now: datetime) -> None:
        self.payouts, self.node, self.terms, self.now = payouts, node, terms, now
        self.db, self.network = payouts.db, payouts.network
        self.reader = BlockReader(node, self.network.assets)
        self.held_up = set[str]()
        """Currencies for which the signer refused one, and `gas` where it refused that."""

    async def give_up_waiting(self) -> None:
        """End what nothing was signed for in some time, to try it again. What still waits holds up its currency."""
        for waiting in await sweeps_store.list_waiting(self.db, self.network.name, self.network.mode):
            is_old = self.now - waiting.created_at > AGAIN_AFTER
            is_signed = is_old and bool(await self.payouts.signer.find_signed(waiting.id))  # by a database restored since
            if is_old and not is_signed:
                await self.db.transact(partial(_give_up, waiting=waiting, now=self.now))
                continue
            self.held_up.add("gas" if waiting.kind == "gas" else waiting.currency)
            if is_signed or waiting.kind == "gas":
                await self._continue(waiting)

    async def collect(self, asset: Asset) -> None:
        """Sweep some addresses that have enough of an asset."""
        places, currency = _PLACES.setdefault(self.network, {}), asset.currency
        least = units_of(self.network.settings.sweep_above[currency], asset.decimals)
        found = await sweeps_store.list_collectable(
            self.db, self.network.name, self.network.mode, currency, self._final, places.get(currency, ""), least, AT_ONCE
        )
        await self._ensure_derived_by_signer(found)
        for collectable in found:
            if currency in self.held_up:
                return
            try:
                await self._collect(asset, collectable, least)
            except CannotPrepare as error:
                log.warning("sweep_waits", part=self.network.name, detail=collectable.address, reason=str(error))
            except (WouldRevert, NodeCallError) as error:  # this address alone
                log.warning("sweep_failed", part=self.network.name, detail=collectable.address, reason=str(error))
            places[currency] = collectable.address.lower()
        if len(found) < AT_ONCE:
            places[currency] = ""

    async def _continue(self, waiting: WaitingSweep) -> None:
        """Gas whose turn it was not gets its nonce now; what is signed has one."""
        try:
            await self._sign_and_send(await self._get(waiting.id))
        except CannotPrepare as error:
            await payouts_store.wait(self.db, waiting.id, str(error), error.waits_for, self.now)

    async def _ensure_derived_by_signer(self, found: list[Collectable]) -> None:
        derived = await self.payouts.signer.derive_addresses([collectable.index for collectable in found]) if found else ()
        if [collectable.address for collectable in found] != list(derived):
            raise CannotPrepare("the signer's deposit addresses are not those of the extended public key")

    async def _collect(self, asset: Asset, collectable: Collectable, least: int) -> None:
        coin = self.network.assets[self.network.settings.coin]
        units = await self._balance(collectable.address, asset)
        coins = units if asset is coin else await self._balance(collectable.address, coin)
        if units < least:
            return
        # The node estimates a transfer of the coin for any amount; for a token only for what is there.
        transfer = ChainTransfer(collectable.address, self.terms.sweep_to, asset.contract, 1 if asset is coin else units)
        gas, price = await sending.estimate_gas(self.node, transfer), self.terms.price
        spendable = coins - self.terms.reserve_wei
        if asset is coin:
            units = spendable - gas * price.fee_per_gas
            if units > 0:
                await self._sweep(asset, collectable, units, GasTerms(gas, price.fee_per_gas, price.tip_per_gas))
            return
        affordable = min(max(spendable, 0) // gas, price.fee_per_gas)
        if affordable >= price.usual_per_gas:
            await self._sweep(asset, collectable, units, GasTerms(gas, affordable, min(price.tip_per_gas, affordable)))
        elif "gas" not in self.held_up:
            await self._fund(coin, collectable, gas * price.fee_per_gas - spendable)

    async def _balance(self, address: str, asset: Asset) -> int:
        """What an address has both in the final block and now."""
        final = await self.reader.balance(address, asset, self.terms.cursor.block.hash)
        return min(final, await self.reader.balance(address, asset, None))

    async def _sweep(self, asset: Asset, collectable: Collectable, units: int, terms: GasTerms) -> None:
        new = self._new("sweep", asset, collectable.index, self.terms.sweep_to, units)
        nonce = await sending.count_sent(self.node, collectable.address, "pending")

        async def reserve(tx: Tx) -> None:
            await payouts_store.insert(tx, new, self.now)
            payout = await payouts_store.lock(tx, new.id)
            taken = await sweeps_store.take(tx, new.rail, new.mode, new.currency, self._final, collectable.address, new.id)
            if payout is None or taken != collectable.units:
                raise CannotPrepare("the deposits of the address have changed", "turn")
            await payouts_store.reserve(tx, payout, collectable.address, nonce, terms, self.now, self.now + CONTINUE_AFTER)

        await self._store(reserve)
        await self._sign_and_send(await self._get(new.id))

    async def _fund(self, coin: Asset, collectable: Collectable, units: int) -> None:
        new = self._new("gas", coin, collectable.index, collectable.address, units)
        await self._store(lambda tx: payouts_store.insert(tx, new, self.now))
        await self._sign_and_send(await self._get(new.id))

    async def _store(self, action: Callable[[Tx], Awaitable[None]]) -> None:
        try:
            await self.db.transact(action)
        except asyncpg.UniqueViolationError:
            raise CannotPrepare("another worker collects from this address", "turn") from None
        except asyncpg.CheckViolationError as error:  # paused meanwhile
            raise CannotPrepare(str(error)) from None

    async def _sign_and_send(self, payout: ChainPayout) -> None:
        try:
            prepared = await self.payouts.prepare(payout, self.now)
        except CannotPrepare:
            self.held_up.add("gas" if payout.kind == "gas" else payout.currency)
            raise
        if prepared.status == "signed":
            await self.payouts.broadcast(prepared, self.now)

    def _new(self, kind: Literal["sweep", "gas"], asset: Asset, index: int, receiver: str, units: int) -> NewChainPayout:
        return NewChainPayout(
            id=new_id(),
            kind=kind,
            rail=self.network.name,
            mode=self.network.mode,
            chain_id=self.network.settings.chain_id,
            currency=asset.currency,
            contract=asset.contract,
            receiver=receiver.lower(),
            amount_units=units,
            deposit_index=index,
        )

    async def _get(self, payout_id: UUID) -> ChainPayout:
        payout = await payouts_store.get(self.db, payout_id)
        if payout is None:
            raise AssertionError("payouts are never deleted")
        return payout

    @property
    def _final(self) -> int:
        return self.terms.cursor.block.number


def units_of(amount: str, decimals: int) -> int:
    """An amount of the settings in the smallest unit, without what is less than one."""
    return int(Decimal(amount).scaleb(decimals))


async def _give_up(tx: Tx, waiting: WaitingSweep, now: datetime) -> None:
    if await payouts_store.fail_waiting(tx, waiting.id, "the signer refused it", now):
        await sweeps_store.give_back(tx, waiting.id)
