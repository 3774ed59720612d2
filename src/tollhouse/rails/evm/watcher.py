"""Follows a chain: finds deposits in new blocks, and makes them final when their blocks are.

A deposit is credited only from blocks up to the cursor, which moves through final blocks one by one: each is linked to the
one before, and read completely before the cursor passes it. What is in later blocks is shown as on its way.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import following, store
from tollhouse.rails.chains.following import Deriver
from tollhouse.rails.chains.model import HOLDER, BlockId, ChainMismatchError, Cursor, Deposit, LeaseLostError
from tollhouse.rails.evm import deposits_store, sweeps_store
from tollhouse.rails.evm.network.blocks import BlockReader, BlockTransfer, Header, Tip, is_linked
from tollhouse.rails.evm.network.node import EvmNode, final_number, to_minor
from tollhouse.rails.evm.network.provider import Asset, EvmNetwork
from tollhouse.rails.evm.reports import Reporter
from tollhouse.rails.json_rpc import NodeCallError, NodeError, NodeResponseError

STEP_BLOCKS = 20
"""Final blocks that are read and stored together."""
STEPS_AT_ONCE = 10
EARLIER_BLOCKS = 100
"""Places of the chain that are kept, to find where a reorganisation began."""
UNFINAL_BLOCKS_MAX = 512
OPEN_ADDRESSES_AT_ONCE = 1_000
_SCANNED: "WeakKeyDictionary[EvmNetwork, dict[int, str]]" = WeakKeyDictionary()
"""Blocks that are not final and were read: hash by number."""


async def credited_units(
    reader: BlockReader,
    header: Header,
    deposits: Sequence[Deposit],
    assets: dict[str, Asset],
    swept: Mapping[tuple[str, str], int],
) -> list[Deposit]:
    """The deposits of a final block with what arrived: those of one address share what its balance rose by, in order.

    `swept` is what our own transfers took away in this block, by address and currency.
    """
    left: dict[tuple[str, str], int] = {}
    credited: list[Deposit] = []
    for deposit in deposits:
        asset = assets[deposit.currency]
        if asset.contract is None:
            credited.append(deposit)
            continue
        key = (deposit.address, deposit.currency)
        if key not in left:
            left[key] = await _rise(reader, header, deposit.address, asset, swept.get(key, 0))
        units = min(deposit.units, left[key])
        left[key] -= units
        credited.append(msgspec.structs.replace(deposit, units=units))
    return credited


async def _rise(reader: BlockReader, header: Header, address: str, asset: Asset, swept: int) -> int:
    """What the balance of an address rose by in a block. A node that forgot that state is asked for the balance now."""
    try:
        after = await reader.balance(address, asset, header.hash)
        before = await reader.balance(address, asset, header.parent_hash)
    except NodeCallError as error:
        log.warning("balance_unknown", part=asset.currency, detail=f"block {header.height}: {error}")
        try:
            return await reader.balance(address, asset, None)
        except NodeCallError:
            return 0
    return max(after - before + swept, 0)


class Watcher(Struct, frozen=True):
    """One look at a network."""

    services: Services
    network: EvmNetwork
    reader: BlockReader
    deriver: Deriver
    now: datetime
    holder: UUID = HOLDER

    async def follow(self, cursor: Cursor | None) -> tuple[Tip, Cursor]:
        """Read what is new. Returns tip and new cursor. Raises `NodeError`, `ChainMismatchError` and `LeaseLostError`."""
        tip = await self.reader.tip()
        final = self.final_height(tip)
        if cursor is None:
            cursor = await self._begin(final)
        cursor = await self._check(cursor, tip)
        for _ in range(STEPS_AT_ONCE):
            if cursor.block.number >= final:
                break
            moved = await self._step(cursor, final)
            if moved is None:
                break
            cursor = moved
        if cursor.block.number >= final:
            await self._scan_unfinal(cursor, tip)
        return tip, cursor

    def final_height(self, tip: Tip) -> int:
        """The number of the newest final block."""
        finality = self.network.settings.finality
        if finality != "finalized":
            return final_number(tip.head.height, finality)
        if tip.finalized is None:
            raise ChainMismatchError("the network has no finalized blocks; set finality to a number of confirmations")
        return tip.finalized.height

    async def _begin(self, final: int) -> Cursor:
        """Where a new rail begins: at the newest final block. No address was shown before."""
        (header,) = await self.reader.final_headers(final, final, self.network.settings.finality) or (None,)
        if header is None:
            raise NodeResponseError("the final block is not known")
        cursor = Cursor(BlockId(final, header.hash))
        await self._move(cursor, [])
        return cursor

    async def _check(self, cursor: Cursor, tip: Tip) -> Cursor:
        """The cursor, or where its chain and the node's part. A node that is behind says nothing about it."""
        found = await self.reader.headers(cursor.block.number, cursor.block.number)
        if not found or found[0].hash == cursor.block.hash:
            return cursor
        if self.network.settings.finality == "finalized" or tip.head.height < cursor.block.number:
            raise ChainMismatchError(f"block {cursor.block.number} was final, and is another one now")
        earlier = [*cursor.earlier]
        while earlier:
            place = earlier.pop()
            header = await self.reader.headers(place.number, place.number)
            if header and header[0].hash == place.hash:
                log.error("chain_reorganized", part=self.network.name, detail=f"from block {place.number + 1}")
                return await self._rewind(Cursor(place, tuple(earlier)))
        raise ChainMismatchError("no block that was read before is on the chain of the node")

    async def _rewind(self, cursor: Cursor) -> Cursor:
        async with self.services.db.transaction() as tx:
            await deposits_store.lose(tx, self.network.name, self.network.mode, cursor.block.number, self.now)
            await self._store_cursor(tx, cursor)
        return cursor

    async def _step(self, cursor: Cursor, final: int) -> Cursor | None:
        """Read the next final blocks and move over them; None if the node does not have them now."""
        first, last = cursor.block.number + 1, min(cursor.block.number + STEP_BLOCKS, final)
        headers = await self.reader.final_headers(first, last, self.network.settings.finality)
        if not headers or not is_linked(headers, cursor.block.hash):
            return None
        deposits: list[Deposit] = []
        for header, transfers in zip(headers, await self.reader.transfers(headers), strict=True):
            ours = await self._ours(header, transfers)
            swept = await self._swept(transfers, ours)
            deposits += await credited_units(self.reader, header, ours, self.network.assets, swept)
        top, balances_up_to = BlockId(headers[-1].height, headers[-1].hash), cursor.balances_up_to
        if top.number == final and (internal := await self._internal(headers[-1], deposits)) is not None:
            deposits, balances_up_to = [*deposits, *internal], top.number
        moved = Cursor(top, (*cursor.earlier, cursor.block)[-EARLIER_BLOCKS:], balances_up_to)
        await self._move(moved, self._priced(deposits))
        return moved

    async def _move(self, cursor: Cursor, deposits: Sequence[Deposit]) -> None:
        name, mode = self.network.name, self.network.mode
        async with self.services.db.transaction() as tx:
            await deposits_store.finalize(tx, name, mode, deposits, self.now)
            await deposits_store.vanish(tx, name, mode, cursor.block.number, [], self.now)
            await self._store_cursor(tx, cursor)
        scanned = _SCANNED.setdefault(self.network, {})
        for number in [number for number in scanned if number <= cursor.block.number]:
            del scanned[number]

    async def _store_cursor(self, tx: Tx, cursor: Cursor) -> None:
        if not await store.move_cursor(tx, self.network.name, self.network.mode, self.holder, cursor, self.now):
            raise LeaseLostError

    async def _scan_unfinal(self, cursor: Cursor, tip: Tip) -> None:
        """Find deposits in blocks above the cursor, and those whose block was replaced."""
        first, last = cursor.block.number + 1, min(tip.head.height, cursor.block.number + UNFINAL_BLOCKS_MAX)
        headers = await self.reader.headers(first, last)
        if not is_linked(headers, cursor.block.hash):
            return  # the chain changed while it was read, or two nodes answered
        scanned = _SCANNED.setdefault(self.network, {})
        fresh = [header for header in headers if scanned.get(header.height) != header.hash]
        deposits: list[Deposit] = []
        for header, transfers in zip(fresh, await self.reader.transfers(fresh), strict=True):
            deposits += await self._ours(header, transfers)
        name, mode = self.network.name, self.network.mode
        async with self.services.db.transaction() as tx:
            await deposits_store.see(tx, name, mode, self._priced(deposits), self.now)
            top = headers[-1].height if headers else cursor.block.number
            await deposits_store.vanish(tx, name, mode, top, [header.hash for header in headers], self.now)
        scanned.update({header.height: header.hash for header in fresh})

    async def _ours(self, header: Header, transfers: Sequence[BlockTransfer]) -> list[Deposit]:
        """The transfers of a block to our addresses that succeeded, as deposits without their amount."""
        addresses = {transfer.address for transfer in transfers}
        name, mode = self.network.name, self.network.mode
        known = await store.find_ours(self.services.db, name, mode, sorted(addresses)) if addresses else {}
        for reference, index in known.values():
            if self.deriver.address(index) != reference:
                raise ChainMismatchError(f"deposit address {index} is not derived from the extended public key")
        ours = [transfer for transfer in transfers if transfer.address in known]
        apart = await sweeps_store.find_fundings(self.services.db, name, mode, ours) if ours else set[str]()
        ours = [transfer for transfer in ours if transfer.tx_hash not in apart]
        of_coin = sorted({transfer.tx_hash for transfer in ours if transfer.asset.contract is None})
        succeeded = await self.reader.succeeded(header, of_coin) if of_coin else set[str]()
        return [
            self._deposit(header, transfer)
            for transfer in ours
            if transfer.asset.contract is not None or transfer.tx_hash in succeeded
        ]

    async def _swept(self, transfers: Sequence[BlockTransfer], deposits: Sequence[Deposit]) -> dict[tuple[str, str], int]:
        """The tokens that sweeps took from the addresses of these deposits in the same block, by address and currency."""
        addresses = {deposit.address for deposit in deposits}
        leaving = [
            transfer for transfer in transfers if transfer.sender in addresses and transfer.asset.contract is not None
        ]
        own = await sweeps_store.find_sweeps(self.services.db, leaving) if leaving else set[str]()
        swept: dict[tuple[str, str], int] = {}
        for transfer in leaving:
            if transfer.tx_hash in own:
                key = (transfer.sender or "", transfer.asset.currency)
                swept[key] = swept.get(key, 0) + transfer.units
        return swept

    async def _internal(self, header: Header, fresh: Sequence[Deposit]) -> list[Deposit] | None:
        """Ether that contracts sent, which no transaction of the block shows; None if the node forgot that state.

        Looked for at addresses of open attempts, and where it was lost by a reorganisation.
        """
        name, mode, coin = self.network.name, self.network.mode, self.network.settings.coin
        found: list[Deposit] = []
        shown = await store.list_open_addresses(self.services.db, name, mode, coin, "", OPEN_ADDRESSES_AT_ONCE)
        try:
            while shown:
                found += await self._surplus(header, fresh, shown)
                shown = await store.list_open_addresses(
                    self.services.db, name, mode, coin, shown[-1], OPEN_ADDRESSES_AT_ONCE
                )
        except NodeCallError as error:
            log.warning("balance_unknown", part=coin, detail=f"block {header.height}: {error}")
            return None
        return found

    async def _surplus(self, header: Header, fresh: Sequence[Deposit], shown: Sequence[str]) -> list[Deposit]:
        """What these addresses have beyond all known deposits. Raises `NodeCallError`."""
        name, mode, coin = self.network.name, self.network.mode, self.network.settings.coin
        addresses = [address.lower() for address in shown]
        known = await deposits_store.sum_units(self.services.db, name, mode, coin, addresses)
        balances = await self.reader.coin_balances(addresses, header.hash)
        found: list[Deposit] = []
        for address, balance in zip(addresses, balances, strict=True):
            units, count = known.get(address, (0, 0))
            units += sum(deposit.units for deposit in fresh if (deposit.address, deposit.currency) == (address, coin))
            surplus = balance - units
            if surplus > 0:
                transfer = BlockTransfer(f"internal:{count}", address, self.network.assets[coin], None, surplus)
                found.append(self._deposit(header, transfer))
        return found

    def _deposit(self, header: Header, transfer: BlockTransfer) -> Deposit:
        return Deposit(
            tx_hash=transfer.tx_hash,
            address=transfer.address,
            currency=transfer.asset.currency,
            sender=transfer.sender,
            units=transfer.units,
            amount_minor=0,
            block_number=header.height,
            block_hash=header.hash,
            block_at=header.at,
            status="seen",
        )

    def _priced(self, deposits: Sequence[Deposit]) -> list[Deposit]:
        """With their amounts. More than the books can count is ignored."""
        priced: list[Deposit] = []
        for deposit in deposits:
            decimals = self.services.catalogue.currencies[deposit.currency].decimals
            amount_minor = to_minor(deposit.units, decimals, self.network.assets[deposit.currency].decimals)
            if amount_minor > MINOR_MAX:
                log.error("deposit_too_large", part=self.network.name, detail=deposit.reference)
                amount_minor = 0
            priced.append(msgspec.structs.replace(deposit, amount_minor=amount_minor))
        return priced


async def look(
    services: Services, network: EvmNetwork, cursor: Cursor | None, first_verified: int, now: datetime
) -> tuple[str | None, dict[str, Any], int]:
    """Why the rail is unavailable, None if it is available; what was measured; and which address is verified next.

    Raises `LeaseLostError`.
    """
    from tollhouse.rails.evm.network.derivation import AddressDeriver  # noqa: PLC0415 - a worker without such a rail needs none

    settings = network.settings
    url = settings.read_node_url()
    if url is None or settings.xpub is None:
        return "node_url and xpub are needed by the worker", {}, first_verified
    deriver = AddressDeriver(settings.xpub)
    is_same, next_verified = await following.verify(services, network, deriver, first_verified)
    if not is_same:  # read again until it is right
        return "a deposit address was changed", {}, first_verified
    facts: dict[str, Any] = {"free_addresses": await following.refill(services, network, deriver, now)}
    try:
        async with EvmNode(url) as node:
            reader = BlockReader(node, network.assets)
            if await reader.chain_id() != settings.chain_id:
                return "the node is part of another network", facts, next_verified
            tip, moved = await Watcher(services, network, reader, deriver, now).follow(cursor)
    except (NodeError, ChainMismatchError) as error:
        return str(error), facts, next_verified
    await Reporter(services, network, tip, moved, now).report()
    age_s = max(int((now - tip.head.at).total_seconds()), 0)
    facts |= {"tip": tip.head.height, "tip_age_s": age_s, "final": moved.block.number}
    return ("the newest block is too old" if age_s > settings.tip_age_max_s else None), facts, next_verified
