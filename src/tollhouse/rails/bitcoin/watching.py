"""Follows a watch-only wallet: node and wallet are verified, addresses derived, deposits stored and reported.

A change of an output and its report are one transaction. The place from which the wallet lists moves when all are stored, so
a worker that dies in between finds the rest again.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments import payment_settings
from tollhouse.http.services import Services, Work
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.refunds import reversals
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.platform.log.events import log
from tollhouse.rails.bitcoin import batches_store, deposits_store
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import AccountKey, InvalidKeyError
from tollhouse.rails.bitcoin.network.node import NOT_FOUND, BitcoinNode, ChainState, WalletEntries, WalletEntry
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.network.transfers import (
    FINALIZED,
    RELISTED_BLOCKS,
    DepositOutput,
    DepositReport,
    Outpoint,
    OutputChange,
    changes,
    listed_outputs,
    unconfirmed,
    unlisted,
)
from tollhouse.rails.chains import following, store
from tollhouse.rails.chains.model import HOLDER, BlockId, ChainMismatchError, Cursor, LeaseLostError
from tollhouse.rails.json_rpc import NodeCallError, NodeError, NodeResponseError

GONE = -1
"""Confirmations of what is in no block and cannot be."""
VERIFIED_AT_ONCE = 50
"""Addresses that a look verifies. To derive one takes almost a millisecond."""
WATCHED_AHEAD = 1_000
"""By how many addresses the wallet watches more than are needed, when it does not watch enough."""
CHANGE_AHEAD_MIN = 20
"""How many change addresses that no batch has yet the wallet watches at least."""
BEHIND_MAX = 2
"""Blocks that the node may be behind the headers that it knows."""


@asynccontextmanager
async def open_node(network: BitcoinNetwork) -> AsyncIterator[tuple[BitcoinNode, ChainState]]:
    """The node with its wallet, if it follows the right chain. Raises `NodeError`."""
    url = network.settings.read_node_url()
    if url is None:
        raise AssertionError("only called for a rail with a node")
    async with BitcoinNode(url, network.settings.wallet) as node:
        state = await node.state()
        if state.chain != network.settings.network or state.initialblockdownload:
            raise NodeResponseError("the node is part of another network, or has not downloaded the chain")
        await node.open_wallet()
        yield node, state


class BitcoinWatcher(Struct, frozen=True):
    """One look at a wallet. `looked_at` is when the last look found the rail in order, if the last one did."""

    services: Services
    network: BitcoinNetwork
    node: BitcoinNode
    now: datetime
    looked_at: datetime | None = None
    holder: UUID = HOLDER

    async def follow(self, cursor: Cursor | None, state: ChainState) -> None:
        """Store and report what has changed. Raises `NodeError`, `ChainMismatchError` and `LeaseLostError`."""
        listed = await self._list(cursor)
        entries = await self._ours(listed.transactions)
        name, mode = self.network.name, self.network.mode
        txids, addresses = {entry.txid for entry in entries}, {entry.address or "" for entry in entries}
        known = await deposits_store.list_outputs(self.services.db, name, mode, txids, addresses)
        asked = await self._confirmations(unlisted(known.values(), entries), known)
        waiting = unconfirmed(entries, asked)
        mempool = await self.node.in_mempool(waiting)
        lost = {output.txid for output in known.values() if output.is_watched and output.txid in waiting} - mempool
        asked |= await self._confirmations(sorted(lost), known)  # in a block by now, or gone
        wished = await self._wished(known, entries)
        for change in changes(known, entries, asked, mempool, self.network.confirmations, wished):
            await self._store(change)
        moved = Cursor(BlockId(max(state.blocks - RELISTED_BLOCKS + 1, 0), listed.lastblock))
        async with self.services.db.transaction() as tx:
            if not await store.move_cursor(tx, name, mode, self.holder, moved, self.now):
                raise LeaseLostError

    async def _list(self, cursor: Cursor | None) -> WalletEntries:
        """What the wallet has since the cursor; everything if the node does not know its block."""
        try:
            return await self.node.since(None if cursor is None else cursor.block.hash, RELISTED_BLOCKS)
        except NodeCallError as error:
            if error.code != NOT_FOUND:
                raise
            return await self.node.since(None, RELISTED_BLOCKS)

    async def _ours(self, entries: Sequence[WalletEntry]) -> list[WalletEntry]:
        """The outputs to deposit addresses. Change is at none."""
        outputs = listed_outputs(entries)
        addresses = sorted({output.address or "" for output in outputs})
        known = await store.find_ours(self.services.db, self.network.name, self.network.mode, addresses)
        return [output for output in outputs if output.address in known]

    async def _confirmations(self, txids: Sequence[str], known: Mapping[Outpoint, DepositOutput]) -> dict[str, int]:
        """The confirmations of these transactions. A new wallet does not know those that have left the mempool before.

        It knows what is in blocks, unless it has not read all of them: then nothing is taken for gone.
        """
        found = await self.node.find_transactions(txids)
        missing = set(txids) - found.keys()
        if any(output.status == "confirmed" for output in known.values() if output.txid in missing):
            raise ChainMismatchError("the wallet of the node lacks a transaction that was credited")
        return {txid: found[txid].confirmations if txid in found else GONE for txid in txids}

    async def _wished(self, known: Mapping[Outpoint, DepositOutput], entries: Sequence[WalletEntry]) -> dict[str, int]:
        """The confirmations that merchants ask for, by address, of what is not credited."""
        credited = {output.outpoint for output in known.values() if output.status == "confirmed"}
        waiting = {output.address for output in known.values() if output.outpoint not in credited}
        waiting |= {entry.address or "" for entry in entries if (entry.txid, entry.vout or 0) not in credited}
        wished: dict[str, int] = {}
        for address in sorted(waiting):
            found = await transaction_store.find_by_reference(
                self.services.db, self.network.name, self.network.mode, address
            )
            if found is None:
                continue
            count = (await payment_settings.of(self.services.db, found[0])).confirmations.get(self.network.name)
            if count is not None:
                wished[address] = FINALIZED if count == "finalized" else count
        return wished

    async def _store(self, change: OutputChange) -> None:
        """Store a change, and settle the payment by it. What cannot be settled now changes at a later look."""
        name, mode = self.network.name, self.network.mode

        async def action(work: Work) -> None:
            if not await store.holds_lease(work.tx, name, mode, self.holder):
                raise LeaseLostError
            if await deposits_store.save(work.tx, name, mode, change.output, work.now) and change.report is not None:
                await self._report(work, change.report)

        try:
            await self.services.transact(action, self.now)
        except ApiError as error:
            log.warning("deposit_not_settled", part=name, detail=change.output.txid, reason=str(error))

    def _first_seen_at(self, report: DepositReport) -> datetime | None:
        """When the node had the transaction first; earlier, if its block proves that it was there while nobody looked.

        Miners choose the times of their blocks, within hours. So a block proves nothing of the time before the last look.
        """
        if report.arrived_at is None:
            return report.received_at
        in_block_at = report.arrived_at if self.looked_at is None else max(report.arrived_at, self.looked_at)
        return in_block_at if report.received_at is None else min(in_block_at, report.received_at)

    async def _report(self, work: Work, report: DepositReport) -> None:
        found = await transaction_store.find_by_reference(work.tx, self.network.name, self.network.mode, report.address)
        if found is None:
            log.error("deposit_without_payment", part=self.network.name, detail=report.external_ref)
            return
        observation = Observation(
            reference=report.address,
            outcome=report.outcome,
            external_ref=report.external_ref,
            transfer_ref=report.transfer_ref,
            amount_minor=0 if report.outcome in {"reversed", "reinstated"} else report.amount_minor,
            reversal_ref=report.reversal_ref,
            arrived_at=report.arrived_at,
            first_seen_at=self._first_seen_at(report),
        )
        if report.outcome == "seen":
            observation = msgspec.structs.replace(
                observation, confirmations=report.confirmations, required_confirmations=report.required_confirmations
            )
        await reversals.apply(work, *found, observation)


class AccountDeriver:
    """Derives the addresses of an account, some at once, which is faster."""

    def __init__(self, account: AccountKey) -> None:
        self._account = account
        self._derived: dict[int, str] = {}

    def address(self, index: int) -> str:
        """The deposit address of this index."""
        if index not in self._derived:
            indexes = range(index, index + VERIFIED_AT_ONCE)
            self._derived |= zip(indexes, keys.addresses(self._account, keys.DEPOSITS, indexes), strict=True)
        return self._derived[index]


async def look(
    services: Services, network: BitcoinNetwork, cursor: Cursor | None, first_verified: int, now: datetime
) -> tuple[str | None, dict[str, Any], int]:
    """Why the rail is unavailable, None if it is available; what was measured; and which address is verified next.

    Raises `LeaseLostError`.
    """
    url = network.settings.read_node_url()
    if url is None or network.settings.xpub is None:
        return "node_url and xpub are needed by the worker", {}, first_verified
    try:
        account = network.account()
    except InvalidKeyError as error:
        log.error("account_key_invalid", part=network.name, detail=str(error))
        return "the extended public key cannot be used", {}, first_verified
    deriver = AccountDeriver(account)
    is_same, next_verified = await following.verify(services, network, deriver, first_verified, VERIFIED_AT_ONCE)
    if not is_same:  # read again until it is right
        return "a deposit address was changed", {}, first_verified
    facts = dict[str, Any]()
    try:
        async with BitcoinNode(url, network.settings.wallet) as node:
            state = await node.state()
            facts |= {"tip": state.blocks, "headers": state.headers, "tip_age_s": max(int(now.timestamp()) - state.time, 0)}
            _verify_chain(network, state)
            await _watch(services, network, node, account)
            facts["free_addresses"] = await following.refill(services, network, deriver, now)
            looked_at = await _last_look(services, network)
            await BitcoinWatcher(services, network, node, now, looked_at).follow(cursor, state)
    except (NodeError, ChainMismatchError) as error:
        return str(error), facts, next_verified
    return _tip_error(network, facts), facts, next_verified


def _verify_chain(network: BitcoinNetwork, state: ChainState) -> None:
    """Raises `ChainMismatchError`."""
    if state.chain != network.settings.network:
        raise ChainMismatchError("the node is part of another network")
    if state.initialblockdownload:
        raise ChainMismatchError("the node has not downloaded the chain")


async def _watch(services: Services, network: BitcoinNetwork, node: BitcoinNode, account: AccountKey) -> None:
    """Have the wallet watch all addresses that exist or will be derived now. Raises `NodeError` and `ChainMismatchError`.

    A wallet that does not watch addresses of payments has missed what was sent to them. Only operators can have it read old
    blocks, because that can take hours, and a pruned node cannot.
    """
    await node.open_wallet()
    if await node.is_scanning():
        raise ChainMismatchError("the wallet of the node reads old blocks")
    descriptor = keys.descriptor(account, keys.DEPOSITS)
    watched = await node.watched_up_to(descriptor)
    if watched < await store.last_given_index(services.db, network.name, network.mode):
        raise ChainMismatchError("the wallet of the node does not watch all addresses that were given out")
    needed = await store.next_index(services.db, network.name, network.mode) + following.FREE_MIN
    if watched < needed:
        await node.watch(descriptor, needed + WATCHED_AHEAD)
    if network.pays_out:
        change_needed = await batches_store.next_change_index(services.db, network.name, network.mode) + CHANGE_AHEAD_MIN
        change = keys.descriptor(account, keys.CHANGE)
        if await node.watched_up_to(change) < change_needed:
            await node.watch(change, change_needed + WATCHED_AHEAD)


async def _last_look(services: Services, network: BitcoinNetwork) -> datetime | None:
    """When the last look found the rail available, with a node that had all blocks it knew of; None if it did not."""
    found = await store.get_health(services.db, network.name, network.mode)
    is_complete = found is not None and found.available and found.facts.get("headers") == found.facts.get("tip")
    return found.checked_at if found is not None and is_complete else None


def _tip_error(network: BitcoinNetwork, facts: dict[str, Any]) -> str | None:
    if facts["headers"] - facts["tip"] > BEHIND_MAX:
        return "the node is behind the chain"
    return "the newest block is too old" if facts["tip_age_s"] > network.settings.tip_age_max_s else None
