"""Payouts on an EVM network in two steps: `prepare` stores a nonce and then signed bytes, `broadcast` sends what is stored.

Whatever is interrupted, by an error or a kill, is continued with the same nonce and the same bytes. Nothing is signed again
for an order that was signed: the signer has it in its journal, even if this database was restored from an older backup.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import msgspec

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.rails.provider import PayoutOrder, PayoutState, RefundOrder, Submission
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.batches.model import OrderKind
from tollhouse.rails.chains.model import NetworkTransferKind
from tollhouse.rails.evm import network_fees
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.node import EvmNode, to_units
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.network.sending import WEI_PER_GWEI, ChainTransfer, GasPrice, PayingWallet, WouldRevert
from tollhouse.rails.evm.network_fees import fee_minor
from tollhouse.rails.evm.payouts_model import ChainPayout, NewChainPayout, WaitsFor
from tollhouse.rails.evm.signer.client import OfflineSigner, SignerClient, SignerUnavailable
from tollhouse.rails.evm.signer.messages import (
    GasTerms,
    Purpose,
    SignedTransfer,
    SigningRefused,
    SignTransfer,
    TransferOrder,
)
from tollhouse.rails.json_rpc import NodeError

PURPOSES: dict[NetworkTransferKind, Purpose] = {"withdrawal": "payout", "refund": "payout", "sweep": "sweep", "gas": "gas"}
WAITS_FOR_EXPORT = "it waits to be exported and signed"
IN_NO_BLOCK = "in no block yet; a new export has a higher fee if gas has become more expensive"
NOT_ITS_TURN = "another payout is being signed"
CONTINUE_AFTER = timedelta(seconds=15)
"""When another worker continues what one has begun: longer than the signer and the node take to answer."""


class CannotPrepare(Exception):
    """Nothing was signed, and nothing can be now. The text says why, for operators."""

    def __init__(self, reason: str, waits_for: WaitsFor = "operator") -> None:
        super().__init__(reason)
        self.waits_for: WaitsFor = waits_for


class ChainPayouts:
    """The payouts of one network, for its provider in the worker."""

    def __init__(self, db: Pool, catalogue: Catalogue, network: EvmNetwork, node_url: str, signer: SignerClient) -> None:
        self.db, self.catalogue, self.network = db, catalogue, network
        self.node_url, self.signer = node_url, signer
        self._node, self._users, self._turn = EvmNode(node_url), 0, asyncio.Lock()

    def reaches(self, db: Pool, node_url: str, socket: Path) -> bool:
        """Whether it has this database, this node and this signer."""
        return (self.db, self.node_url, self.signer.socket) == (db, node_url, socket)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[EvmNode]:
        """The node. All who are inside at the same time share its connections, and one to the signer."""
        self._users += 1
        try:
            async with self.signer:
                yield self._node
        finally:
            self._users -= 1
            if self._users == 0:
                await self._node.close()

    async def submit(self, kind: OrderKind, order: PayoutOrder | RefundOrder) -> Submission:
        """Prepare and broadcast an order. `rejected` only where nothing was signed, and never will be."""
        async with self.connected():
            return await self._submit(kind, order, clock.now())

    async def _submit(self, kind: OrderKind, order: PayoutOrder | RefundOrder, now: datetime) -> Submission:
        if await store.get(self.db, order.id) is None:
            await store.insert(self.db, self._new(kind, order), now)
        payout = await self._get(order.id)
        if payout.status in {"waiting", "reserved"}:
            payout = await self._prepared(payout, now)
        if payout.status == "signed":
            await self._broadcast_or_later(payout, now)
        if payout.status == "failed":
            code = "receiver_invalid" if payout.reason == "receiver_invalid" else "payout_declined"
            return Submission("rejected", failure_code=code)
        if payout.status in {"waiting", "reserved"}:
            return Submission("unknown")
        transactions = await store.list_transactions(self.db, payout.id)
        return Submission("accepted", transactions[0].tx_hash)

    async def state(self, order_id: UUID) -> PayoutState:
        """What became of an order. `absent`: no bytes of it were given out."""
        payout = await store.get(self.db, order_id)
        if payout is None or (payout.status in {"waiting", "reserved"} and payout.exported_at is None):
            return PayoutState("absent")
        if payout.status == "failed":
            return PayoutState("failed", "payout_declined", payout.tx_hash)
        if payout.status == "completed":
            return PayoutState("succeeded", tx_hash=payout.tx_hash, network_fee_minor=self._fee_minor(payout))
        return PayoutState("pending", tx_hash=payout.tx_hash)

    async def prepare(self, payout: ChainPayout, now: datetime) -> ChainPayout:
        """Store a nonce and the signed bytes, one payout after the other.

        Raises `CannotPrepare`, `NodeError` and `SignerUnavailable`.
        """
        if self.signer.is_offline:
            raise CannotPrepare(WAITS_FOR_EXPORT)
        async with self._turn, self.connected() as node:
            payout = await self._get(payout.id)  # as it is now, after the ones before it
            if payout.status == "waiting":
                payout = await self._reserve(node, payout, now)
            if payout.status != "reserved":
                return payout
            answer = await self.signer.sign(request_of(payout))
            if isinstance(answer, SigningRefused):
                await self._give_back(payout, answer, now)
                raise CannotPrepare(answer.message)
            await self.db.transact(lambda tx: _add(tx, payout.id, answer, now))
            return await self._get(payout.id)

    async def broadcast(self, payout: ChainPayout, now: datetime) -> None:
        """Give the newest signed bytes to the node. Raises `NodeError` where it is unknown whether it has them."""
        newest = (await store.list_transactions(self.db, payout.id))[-1]
        async with self.connected() as node:
            result = await sending.send(node, newest.raw)
        if result in {"insufficient_funds", "refused"}:
            log.warning("payout_not_sent", part=payout.rail, detail=str(payout.id), reason=result)
            await store.check_later(self.db, payout.id, now + CONTINUE_AFTER, result)
            return
        await store.record_sent(self.db, payout.id, newest.number, now)
        log.info("payout_sent", part=payout.rail, detail=f"{payout.id} {newest.tx_hash}")

    async def replace(self, node: EvmNode, payout: ChainPayout, now: datetime) -> None:
        """Sign the same transfer with the same nonce and a higher fee. Raises `NodeError` and `SignerUnavailable`."""
        if self.signer.is_offline:
            await store.check_later(self.db, payout.id, now + CONTINUE_AFTER, IN_NO_BLOCK)
            return
        last = (await store.list_transactions(self.db, payout.id))[-1].terms
        terms = raised_terms(last, await sending.read_price(node), self.network)
        if terms is None:
            await store.check_later(self.db, payout.id, now + CONTINUE_AFTER, "gas is too expensive")
            return
        answer = await self.signer.sign(msgspec.structs.replace(request_of(payout), terms=terms))
        if isinstance(answer, SigningRefused):
            log.warning("payout_not_replaced", part=payout.rail, detail=str(payout.id), reason=answer.message)
            await store.check_later(self.db, payout.id, now + CONTINUE_AFTER, answer.message)
            return
        await self.db.transact(lambda tx: _add(tx, payout.id, answer, now))
        await self.broadcast(payout, now)

    async def _prepared(self, payout: ChainPayout, now: datetime) -> ChainPayout:
        """The payout after `prepare`; where it cannot be prepared, why is stored."""
        try:
            return await self.prepare(payout, now)
        except WouldRevert as error:
            await store.fail_waiting(self.db, payout.id, str(error), now)
        except CannotPrepare as error:
            log.warning("payout_waits", part=payout.rail, detail=str(payout.id), reason=str(error))
            await store.wait(self.db, payout.id, str(error), error.waits_for, now)
        except (NodeError, SignerUnavailable) as error:  # what is reserved stays so, and is continued
            log.warning("payout_waits", part=payout.rail, detail=str(payout.id), reason=str(error))
            await store.wait(self.db, payout.id, str(error), "operator", now)
        return await self._get(payout.id)

    async def _broadcast_or_later(self, payout: ChainPayout, now: datetime) -> None:
        try:
            await self.broadcast(payout, now)
        except NodeError as error:  # the bytes are stored, and are sent again
            log.warning("payout_not_sent", part=payout.rail, detail=str(payout.id), reason=str(error))

    async def _reserve(self, node: EvmNode, payout: ChainPayout, now: datetime) -> ChainPayout:
        check_at = now + CONTINUE_AFTER
        if await store.is_another_reserved(self.db, payout):
            raise CannotPrepare(NOT_ITS_TURN, "turn")
        if signed := await self.signer.find_signed(payout.id):
            return await self._with_nonce(payout, lambda tx: _adopt(tx, payout.id, signed, now, check_at))
        wallet = await self.signer.describe_wallet(payout.rail)
        if isinstance(wallet, SigningRefused):
            raise CannotPrepare(wallet.message)
        state = await sending.read_wallet(node, wallet.address, payout.contract)
        if not payout.chain_id == wallet.chain_id == state.chain_id:
            raise CannotPrepare("node, signer and rails file disagree about the chain")
        transfer = ChainTransfer(wallet.address, payout.receiver, payout.contract, payout.amount_units)
        price = await sending.read_price(node)
        ensure_affordable(price, self.network)
        await self._ensure_float(payout, wallet.address, state, 0)
        terms = _terms(await sending.estimate_gas(node, transfer), price)
        await self._ensure_float(payout, wallet.address, state, terms.cost)
        nonce_min, own_wei = max(wallet.next_nonce, state.next_nonce), await network_fees.used_wei(self.db, payout, now)
        if reason := network_fees.obstacle(payout, wallet, own_wei, terms.cost):
            raise CannotPrepare(reason, "share")

        async def reserve(tx: Tx) -> None:
            await _reserve(tx, payout.id, wallet.address, nonce_min, terms, now, check_at)
            if await network_fees.used_wei(tx, payout, now) > own_wei:  # another worker has signed one meanwhile
                raise CannotPrepare(NOT_ITS_TURN, "turn")

        return await self._with_nonce(payout, reserve)

    async def _with_nonce(self, payout: ChainPayout, action: Callable[[Tx], Awaitable[None]]) -> ChainPayout:
        """The payout after it was given a nonce. Raises `CannotPrepare` where the database refuses that now."""
        try:
            await self.db.transact(action)
        except asyncpg.UniqueViolationError:
            raise CannotPrepare(NOT_ITS_TURN, "turn") from None
        except asyncpg.CheckViolationError as error:  # paused or suspended meanwhile
            raise CannotPrepare(str(error)) from None
        return await self._get(payout.id)

    async def _ensure_float(self, payout: ChainPayout, wallet: str, state: PayingWallet, cost: int) -> None:
        """Raise `CannotPrepare` where the wallet has too little of the asset, or of the coin for fees."""
        units, fees = await store.committed(self.db, payout.rail, payout.mode, wallet, payout.contract)
        coins = state.coins - fees
        if payout.contract is None:
            is_enough = coins - units >= payout.amount_units + cost
        else:
            tokens = state.tokens - units
            committed_coins, _ = await store.committed(self.db, payout.rail, payout.mode, wallet, None)
            is_enough = tokens >= payout.amount_units and coins - committed_coins >= cost
        if not is_enough:
            raise CannotPrepare(f"the wallet has too little {payout.currency}, or too little for fees", "float")

    async def _give_back(self, payout: ChainPayout, refused: SigningRefused, now: datetime) -> None:
        """Nothing was signed for its nonce, so the next payout gets it. Unless its journal failed."""
        if refused.code == "journal_unusable":
            return
        await self.db.transact(lambda tx: store.release(tx, payout, refused.message, now))
        if refused.code == "receiver_invalid":
            await store.fail_waiting(self.db, payout.id, refused.code, now)

    def _new(self, kind: OrderKind, order: PayoutOrder | RefundOrder) -> NewChainPayout:
        asset = self.network.assets[order.currency]
        decimals = self.catalogue.currencies[order.currency].decimals
        return NewChainPayout(
            id=order.id,
            kind=kind,
            rail=self.network.name,
            mode=self.network.mode,
            chain_id=self.network.settings.chain_id,
            currency=order.currency,
            contract=asset.contract,
            receiver=self.network.account_of(order.receiver),
            amount_units=to_units(order.amount_minor, decimals, asset.decimals),
        )

    def _fee_minor(self, payout: ChainPayout) -> int:
        """The fee in the payout's currency, rounded up. Fees of tokens are paid in the coin, so not in their currency."""
        if payout.contract is not None:
            return 0
        return fee_minor(payout.fee_wei or 0, payout.currency, self.catalogue)

    async def _get(self, payout_id: UUID) -> ChainPayout:
        payout = await store.get(self.db, payout_id)
        if payout is None:
            raise AssertionError("payouts are never deleted")
        return payout


def payouts_of(services: Services, network: EvmNetwork) -> ChainPayouts | None:
    """The payouts of a network, which its provider has from now on. None without a signer or a node."""
    settings, current = network.settings, network.payouts
    node_url = settings.read_node_url()
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


def ensure_affordable(price: GasPrice, network: EvmNetwork) -> None:
    """Raise `CannotPrepare` where gas costs more than the rail pays."""
    if price.fee_per_gas > _fee_max(network):
        raise CannotPrepare(f"gas costs {price.fee_per_gas // WEI_PER_GWEI} gwei, more than the maximum", "gas_price")


def raised_terms(last: GasTerms, price: GasPrice, network: EvmNetwork) -> GasTerms | None:
    """The terms of a replacement: enough for the network to take it, and for the price of now. None if that is too much."""
    rise = network.settings.replacement_rise_percent + 100
    fee = max(price.fee_per_gas, -(-last.fee_per_gas * rise // 100))
    tip = max(price.tip_per_gas, -(-last.tip_per_gas * rise // 100))
    return None if fee > _fee_max(network) else GasTerms(last.gas, fee, min(tip, fee))


def _fee_max(network: EvmNetwork) -> int:
    return network.settings.fee_per_gas_max_gwei * WEI_PER_GWEI


def request_of(payout: ChainPayout) -> SignTransfer:
    """What the signer is asked for a payout that has a nonce."""
    if payout.nonce is None or payout.terms is None:
        raise AssertionError("the nonce is reserved first")
    order = TransferOrder(
        order_id=payout.id,
        purpose=PURPOSES[payout.kind],
        network=payout.rail,
        chain_id=payout.chain_id,
        asset=payout.currency,
        contract=payout.contract,
        receiver=payout.receiver,
        amount=str(payout.amount_units),
        index=payout.deposit_index,
    )
    return SignTransfer(order, payout.nonce, payout.terms)


async def _reserve(
    tx: Tx, payout_id: UUID, wallet: str, nonce_min: int, terms: GasTerms, now: datetime, check_at: datetime
) -> None:
    payout = await store.lock(tx, payout_id)
    if payout is not None and payout.status == "waiting":
        if payout.refused_by_action_id is not None:
            raise CannotPrepare("an operator wants it refused")
        await store.reserve(tx, payout, wallet, nonce_min, terms, now, check_at)


async def _adopt(tx: Tx, payout_id: UUID, signed: tuple[SignedTransfer, ...], now: datetime, check_at: datetime) -> None:
    payout = await store.lock(tx, payout_id)
    if payout is None or payout.status != "waiting":
        return
    await store.adopt(tx, payout, signed[0], now, check_at)
    for transaction in signed:
        await store.add_transaction(tx, payout_id, transaction, now)


async def _add(tx: Tx, payout_id: UUID, signed: SignedTransfer, now: datetime) -> None:
    if await store.lock(tx, payout_id) is not None:
        await store.add_transaction(tx, payout_id, signed, now)


def _terms(gas: int, price: GasPrice) -> GasTerms:
    return GasTerms(gas, price.fee_per_gas, price.tip_per_gas)
