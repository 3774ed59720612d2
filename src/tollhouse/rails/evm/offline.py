"""Payouts whose signer has no connection: drafted with the node, reserved together, verified when they come back signed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.platform.database.pool import Tx
from tollhouse.rails.evm import offline_store
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.network.sending import ChainTransfer, GasPrice, PayingWallet, WouldRevert
from tollhouse.rails.evm.network.signed import DecodedTransaction, UnreadableTransaction, read
from tollhouse.rails.evm.payouts import CannotPrepare, ChainPayouts, ensure_affordable, raised_terms, request_of
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.signer.messages import GasTerms, SignedTransfer, SignTransfer
from tollhouse.transfers.gate import store as outgoing_store
from tollhouse.transfers.gate.model import OutgoingTransfer

Added = Literal["added", "known", "suspended"]
PAYOUTS_MAX = 200
"""Of an export."""


class CannotImport(Exception):
    """The signed bytes are not those of the payout. The text says what differs, for operators."""


class ExportDraft(Struct, frozen=True):
    """What the node says of an export: the payouts that can be paid with their gas, and why others cannot."""

    price: GasPrice
    next_nonce: int
    gas: dict[UUID, int]
    left_out: dict[UUID, str]


async def draft(payouts: ChainPayouts, waiting: Sequence[OutgoingTransfer]) -> ExportDraft:
    """Estimate what payouts need. Raises `CannotPrepare` and `NodeError`."""
    network, wallet = payouts.network, wallet_of(payouts.network)
    gas, left_out = dict[UUID, int](), dict[UUID, str]()
    async with payouts.connected() as node:
        price = await sending.read_price(node)
        ensure_affordable(price, network)
        states: dict[str | None, PayingWallet] = {}
        for contract in (None, *(asset.contract for asset in network.assets.values() if asset.contract)):
            states[contract] = await sending.read_wallet(node, wallet, contract)
            if states[contract].chain_id != network.settings.chain_id:
                raise CannotPrepare("node and rails file disagree about the chain")
        left = await _left(payouts, wallet, states)
        for one in waiting:
            payout = await store.get(payouts.db, one.id)
            if payout is None:
                continue
            transfer = ChainTransfer(wallet, payout.receiver, payout.contract, payout.amount_units)
            if left[payout.contract] < payout.amount_units:
                left_out[one.id] = f"the wallet has too little {payout.currency}"
                continue
            try:
                needed = await sending.estimate_gas(node, transfer)
            except WouldRevert as error:
                left_out[one.id] = f"it would fail: {error}"
                continue
            cost = needed * price.fee_per_gas
            if left[None] < cost + (payout.amount_units if payout.contract is None else 0):
                left_out[one.id] = "the wallet has too little for fees"
                continue
            left[payout.contract] -= payout.amount_units
            left[None] -= cost
            gas[one.id] = needed
    return ExportDraft(price, states[None].next_nonce, gas, left_out)


async def _left(payouts: ChainPayouts, wallet: str, states: dict[str | None, PayingWallet]) -> dict[str | None, int]:
    """By contract, None for the coin: what the wallet has without what has a nonce and is in no block."""
    left: dict[str | None, int] = {}
    for contract, state in states.items():
        units, fees = await store.committed(payouts.db, payouts.network.name, payouts.network.mode, wallet, contract)
        left[contract] = state.coins - units - fees if contract is None else state.tokens - units
    return left


async def reserve(
    tx: Tx, network: EvmNetwork, drafted: ExportDraft, leaving: Sequence[UUID], now: datetime
) -> list[SignTransfer]:
    """Give these payouts their nonces, and raise fees that are too low. Returns all that is to be signed."""
    price, wallet = drafted.price, wallet_of(network)
    for payout_id in leaving:
        payout = await store.lock(tx, payout_id)
        if payout is None or payout.status != "waiting":
            continue
        terms = GasTerms(drafted.gas[payout_id], price.fee_per_gas, price.tip_per_gas)
        await store.reserve(tx, payout, wallet, drafted.next_nonce, terms, now, now)
        await offline_store.mark_exported(tx, payout, now)
    for payout in await offline_store.list_too_cheap(tx, network.name, network.mode, price.usual_per_gas):
        if payout.terms is not None and (terms := raised_terms(payout.terms, price, network)) is not None:
            await offline_store.raise_fee(tx, payout, terms, now)
    return [request_of(one) for one in await offline_store.list_unsigned(tx, network.name, network.mode)]


async def add_signed(tx: Tx, network: EvmNetwork, signed: SignedTransfer, now: datetime) -> Added:
    """Verify and store the signed bytes of a payout, which the worker sends, unless its merchant is suspended.

    Only the bytes are believed, nothing that the file says beside them. A payout that waits gets their nonce: this database
    was restored from a backup of before its export. Raises `CannotImport`.
    """
    payout = await store.lock(tx, signed.order_id)
    if payout is None or (payout.rail, payout.mode) != (network.name, network.mode) or payout.deposit_index is not None:
        raise CannotImport("there is no such payout on this rail")
    try:
        found = read(signed.raw)
    except UnreadableTransaction as error:
        raise CannotImport(str(error)) from None
    _ensure_same(payout, found, wallet_of(network))
    is_stored = found.tx_hash in {one.tx_hash for one in await store.list_transactions(tx, payout.id)}
    if is_stored or payout.status in {"completed", "failed"}:
        return "known"
    env = await store.get_env(tx, payout.id)
    if not await outgoing_store.lock_active_merchants(tx, {env.merchant_id}):
        return "suspended"
    terms = GasTerms(found.gas, found.fee_per_gas, found.tip_per_gas)
    verified = SignedTransfer(payout.id, wallet_of(network), found.nonce, terms, found.tx_hash, signed.raw.lower())
    if payout.status == "waiting":
        await _adopt(tx, payout, verified, now)
    await store.add_transaction(tx, payout.id, verified, now)
    if payout.status == "signed":
        await store.check_later(tx, payout.id, now, payout.reason)
    return "added"


def wallet_of(network: EvmNetwork) -> str:
    """The wallet that pays."""
    if network.settings.offline_wallet is None:
        raise AssertionError("only called for a rail that is signed offline")
    return network.settings.offline_wallet


async def _adopt(tx: Tx, payout: ChainPayout, signed: SignedTransfer, now: datetime) -> None:
    try:
        await store.adopt(tx, payout, signed, now, now)
    except asyncpg.UniqueViolationError:
        raise CannotImport("another payout has its nonce") from None
    await offline_store.mark_exported(tx, payout, now)


def _ensure_same(payout: ChainPayout, found: DecodedTransaction, wallet: str) -> None:
    terms = payout.terms
    if payout.status != "waiting" and (payout.exported_at is None or terms is None):
        raise CannotImport("it was not exported, or it was refused")
    differing = {
        "sender": found.sender != wallet.lower() or found.sender != (payout.wallet or wallet).lower(),
        "chain": found.chain_id != payout.chain_id,
        "nonce": payout.nonce is not None and found.nonce != payout.nonce,
        "receiver or amount": not found.moves(payout.receiver, payout.contract, payout.amount_units),
        "gas": terms is not None and found.gas != terms.gas,
        "fee": terms is not None and (found.fee_per_gas > terms.fee_per_gas or found.tip_per_gas > terms.tip_per_gas),
    }
    if wrong := [name for name, differs in differing.items() if differs]:
        raise CannotImport(f"it is not what was exported: {', '.join(wrong)}")
