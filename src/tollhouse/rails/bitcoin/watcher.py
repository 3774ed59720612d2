"""Follows a watch-only wallet: stores what became of outputs to deposit addresses, and reports it to their payments.

A change of an output and its report are one transaction. The place from which the wallet lists moves when all are stored, so
a worker that dies in between finds the rest again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
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
from tollhouse.rails.bitcoin import deposits_store
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
from tollhouse.rails.chains import store
from tollhouse.rails.chains.model import HOLDER, BlockId, ChainMismatchError, Cursor, LeaseLostError
from tollhouse.rails.json_rpc import NodeCallError

GONE = -1
"""Confirmations of what is in no block and cannot be."""


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
        txids, addresses = {one.txid for one in entries}, {one.address or "" for one in entries}
        known = await deposits_store.list_outputs(self.services.db, name, mode, txids, addresses)
        asked = await self._confirmations(unlisted(known.values(), entries), known)
        waiting = unconfirmed(entries, asked)
        mempool = await self.node.in_mempool(waiting)
        lost = {one.txid for one in known.values() if one.is_watched and one.txid in waiting} - mempool
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
        addresses = sorted({one.address or "" for one in outputs})
        known = await store.find_ours(self.services.db, self.network.name, self.network.mode, addresses)
        return [one for one in outputs if one.address in known]

    async def _confirmations(self, txids: Sequence[str], known: Mapping[Outpoint, DepositOutput]) -> dict[str, int]:
        """The confirmations of these transactions. A new wallet does not know those that have left the mempool before.

        It knows what is in blocks, unless it has not read all of them: then nothing is taken for gone.
        """
        found = await self.node.find_transactions(txids)
        missing = set(txids) - found.keys()
        if any(one.status == "confirmed" for one in known.values() if one.txid in missing):
            raise ChainMismatchError("the wallet of the node lacks a transaction that was credited")
        return {txid: found[txid].confirmations if txid in found else GONE for txid in txids}

    async def _wished(self, known: Mapping[Outpoint, DepositOutput], entries: Sequence[WalletEntry]) -> dict[str, int]:
        """The confirmations that merchants ask for, by address, of what is not credited."""
        credited = {one.outpoint for one in known.values() if one.status == "confirmed"}
        waiting = {one.address for one in known.values() if one.outpoint not in credited}
        waiting |= {one.address or "" for one in entries if (one.txid, one.vout or 0) not in credited}
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
