"""Payouts whose signer has no connection: drafted with the node, exported together, verified when they come back signed."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.batches.actions import ensure_not_paused
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.network.sending import ChainTransfer, GasPrice, PayingWallet, WouldRevert
from tollhouse.rails.evm.network.signed import DecodedTransaction, UnreadableTransaction, read
from tollhouse.rails.evm.payouts import CannotPrepare, ChainPayouts, ensure_affordable, payouts_of, raised_terms, request_of
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.signer.messages import GasTerms, SignedTransfer, SignTransfer
from tollhouse.rails.json_rpc import NodeError
from tollhouse.transfers.gate import exports
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
        for outgoing in waiting:
            payout = await store.get(payouts.db, outgoing.id)
            if payout is None:
                continue
            transfer = ChainTransfer(wallet, payout.receiver, payout.contract, payout.amount_units)
            if left[payout.contract] < payout.amount_units:
                left_out[outgoing.id] = f"the wallet has too little {payout.currency}"
                continue
            try:
                needed = await sending.estimate_gas(node, transfer)
            except WouldRevert as error:
                left_out[outgoing.id] = f"it would fail: {error}"
                continue
            cost = needed * price.fee_per_gas
            if left[None] < cost + (payout.amount_units if payout.contract is None else 0):
                left_out[outgoing.id] = "the wallet has too little for fees"
                continue
            left[payout.contract] -= payout.amount_units
            left[None] -= cost
            gas[outgoing.id] = needed
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
        await store.mark_exported(tx, payout, now)
    for payout in await store.list_too_cheap(tx, network.name, network.mode, price.usual_per_gas):
        if payout.terms is not None and (terms := raised_terms(payout.terms, price, network)) is not None:
            await store.raise_fee(tx, payout, terms, now)
    return [request_of(transaction) for transaction in await store.list_unsigned(tx, network.name, network.mode)]


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
    is_stored = found.tx_hash in {transaction.tx_hash for transaction in await store.list_transactions(tx, payout.id)}
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
    await store.mark_exported(tx, payout, now)


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


class Exportable(Struct, frozen=True):
    """What an export would contain: new payouts, why others are left out, and earlier ones that are not signed."""

    drafted: ExportDraft
    leaving: tuple[OutgoingTransfer, ...]
    again: tuple[UUID, ...]


def find_payouts(services: Services, rail: str | None) -> ChainPayouts:
    """The payouts of the rail of this name, or the only one, that is signed offline. Raises `OperatorRefusedError`."""
    networks = [
        network
        for network in services.rails.of(EvmNetwork)
        if network.settings.offline_wallet and rail in {None, network.name}
    ]
    if len(networks) > 1:
        raise OperatorRefusedError("Several rails have an offline wallet. Name one with --rail.")
    found = payouts_of(services, networks[0]) if networks else None
    if found is None:
        raise OperatorRefusedError("No rail with offline_wallet and the address of a node is configured. See docs/rails.md.")
    return found


async def preview(payouts: ChainPayouts, context: OperatorContext) -> Exportable:
    """What this operator can export now. Raises `OperatorRefusedError`."""
    network = payouts.network

    async def find(tx: Tx) -> list[OutgoingTransfer]:
        await ensure_not_paused(tx)
        waiting = await store.list_waiting(tx, network.name, network.mode, PAYOUTS_MAX)
        return await exports.filter_exportable(tx, waiting, context.reviewer, context.at)

    allowed = await payouts.db.transact(find)
    try:
        drafted = await draft(payouts, allowed)
    except (CannotPrepare, NodeError) as error:
        raise OperatorRefusedError(Text("Nothing can be exported now: %(reason)s", reason=str(error))) from None
    again = await store.list_unsigned(payouts.db, network.name, network.mode)
    leaving = tuple(payout for payout in allowed if payout.id in drafted.gas)
    return Exportable(drafted, leaving, tuple([payout.id for payout in again]))


async def export(
    services: Services, network: EvmNetwork, shown: Exportable, context: OperatorContext
) -> tuple[OperatorAction, Sequence[SignTransfer]]:
    """Reserve the nonces of what was shown, and return all that is to be signed. Raises `OperatorRefusedError`.

    What was exported before and is not imported is in it again, with the same nonce.
    """

    async def change(work: Work) -> tuple[OperatorAction, Sequence[SignTransfer]]:
        await ensure_not_paused(work.tx)
        locked = await store.lock_waiting(work.tx, [payout.id for payout in shown.leaving])
        leaving = await exports.filter_exportable(work.tx, locked, context.reviewer, context.at)
        requests = await reserve(work.tx, network, shown.drafted, [payout.id for payout in leaving], work.now)
        if not requests:
            raise OperatorRefusedError("No payouts wait to be signed.")
        action = await record.record_action(work, context, "network_payouts_exported", None, subject_id=new_id())
        return action, requests

    return await services.transact(change, context.at, OPERATOR)


async def import_signed(
    services: Services, network: EvmNetwork, signed: Sequence[SignedTransfer], context: OperatorContext
) -> tuple[OperatorAction, Counter[Added]]:
    """Store signed payouts, which the worker sends. Returns how many are new. Raises `OperatorRefusedError`.

    If one is not as it was exported, none is stored. Those of suspended merchants are not stored.
    """

    async def change(work: Work) -> tuple[OperatorAction, Counter[Added]]:
        counts = Counter[Added]()
        await ensure_not_paused(work.tx)
        for transfer in sorted(signed, key=lambda transfer: transfer.order_id):  # the order of locks
            try:
                counts[await add_signed(work.tx, network, transfer, work.now)] += 1
            except CannotImport as error:
                raise OperatorRefusedError(
                    Text(
                        "Payout %(payout_id)s cannot be imported: %(reason)s.",
                        payout_id=transfer.order_id,
                        reason=str(error),
                    )
                ) from None
        action = await record.record_action(work, context, "network_payouts_imported", None, subject_id=new_id())
        return action, counts

    return await services.transact(change, context.at, OPERATOR)
