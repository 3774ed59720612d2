"""A Bitcoin Core node with a watch-only descriptor wallet, and the types of its answers.

The node follows the chain and the mempool for the addresses of the account; it holds no private key. Every call is sent as
a batch of one, because versions before 28 answer errors of single calls by HTTP statuses.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, Literal, Self, TypeVar
from urllib.parse import quote

from msgspec import Struct

from tollhouse.rails.json_rpc import JsonRpcNode, NodeCallError, NodeResponseError, RpcCall

T = TypeVar("T")
SATOSHIS: Final = 10**8
WALLET_NOT_FOUND, WALLET_ALREADY_LOADED = -18, -35
NOT_FOUND: Final = -5
ORIGIN: Final = re.compile(r"\[[^]]*\]")
ALREADY_IN_CHAIN: Final = -27

Category = Literal["send", "receive", "generate", "immature", "orphan"]


class ChainState(Struct, frozen=True):
    """What the node knows of the chain. `time` is that of the newest block, as a UNIX timestamp."""

    chain: str
    blocks: int
    headers: int
    bestblockhash: str
    initialblockdownload: bool
    time: int = 0


class WalletEntry(Struct, frozen=True):
    """An output of a transaction that concerns the wallet, in BTC.

    `confirmations` are negative if a conflicting transaction is in the chain, and 0 without a block. `blocktime`, which the
    miner of the block states, and `timereceived`, when the node had the transaction first, are UNIX timestamps.
    """

    category: Category
    amount: Decimal
    txid: str
    confirmations: int
    address: str | None = None
    vout: int | None = None
    blockhash: str | None = None
    blockheight: int | None = None
    blocktime: int | None = None
    timereceived: int | None = None
    generated: bool = False


class WalletEntries(Struct, frozen=True):
    """The entries since a block. `lastblock` is where the next request starts."""

    transactions: list[WalletEntry]
    lastblock: str


class WalletTransaction(Struct, frozen=True):
    """A transaction of the wallet with its bytes in hexadecimal."""

    txid: str
    hex: str
    confirmations: int
    blockhash: str | None = None
    blockheight: int | None = None


class DescriptorRange(Struct, frozen=True):
    """A descriptor of the wallet, and the first and last index that it watches."""

    desc: str
    range: tuple[int, int] | None = None


class Descriptors(Struct, frozen=True):
    """The descriptors of the wallet."""

    descriptors: list[DescriptorRange]


class WalletState(Struct, frozen=True):
    """Whether the wallet reads old blocks, with its progress if it does."""

    scanning: bool | dict[str, Any] = False


class NamedDescriptor(Struct, frozen=True):
    """A descriptor in normal form, with its checksum."""

    descriptor: str


class ImportOutcome(Struct, frozen=True):
    """Whether a descriptor was imported."""

    success: bool


class UnspentOutput(Struct, frozen=True):
    """An output that no transaction of the chain has spent."""

    confirmations: int


class WalletCoin(Struct, frozen=True):
    """An output of the wallet that is in a block, in BTC."""

    txid: str
    vout: int
    amount: Decimal
    address: str | None = None


class FeeEstimate(Struct, frozen=True):
    """The fee rate in BTC per 1000 virtual bytes; None while the node does not know."""

    feerate: Decimal | None = None


class BitcoinNode:
    """A node at a URL, which may contain a user and a password. Use as an asynchronous context manager."""

    def __init__(self, url: str, wallet: str) -> None:
        self._wallet = wallet
        self._rpc = JsonRpcNode(f"{url.rstrip('/')}/wallet/{quote(wallet, safe='')}")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        await self._rpc.close()

    async def state(self) -> ChainState:
        """What the node knows of the chain. Raises `NodeError`, as all methods."""
        return await self._call(ChainState, "getblockchaininfo")

    async def open_wallet(self) -> None:
        """Load the wallet, or create it without private keys."""
        if self._wallet in await self._call(list[str], "listwallets"):
            return
        try:
            await self._call(dict[str, Any], "loadwallet", self._wallet, True)
        except NodeCallError as error:
            if error.code == WALLET_ALREADY_LOADED:  # by somebody else, just now
                return
            if error.code != WALLET_NOT_FOUND:
                raise
            private_keys_disabled, blank, avoid_reuse, descriptors, on_startup = True, True, False, True, True
            await self._call(
                dict[str, Any],
                "createwallet",
                *(self._wallet, private_keys_disabled, blank, "", avoid_reuse, descriptors, on_startup),
            )

    async def is_scanning(self) -> bool:
        """Whether the wallet reads old blocks now, so that it does not list everything yet."""
        return (await self._call(WalletState, "getwalletinfo")).scanning is not False

    async def watched_up_to(self, descriptor: str) -> int:
        """The last index from 0 on at which the wallet watches this descriptor; -1 if it does not."""
        named = await self._call(NamedDescriptor, "getdescriptorinfo", descriptor)
        known = await self._call(Descriptors, "listdescriptors")
        return max(
            (
                watched.range[1]
                for watched in known.descriptors
                if _scripts(watched.desc) == _scripts(named.descriptor)
                and watched.range is not None
                and watched.range[0] == 0
            ),
            default=-1,
        )

    async def watch(self, descriptor: str, last_index: int) -> None:
        """Have the wallet watch a descriptor up to this index. A descriptor that is watched so far is left alone.

        Earlier blocks are not read, so none of the new addresses may have been shown to anybody.
        """
        if await self.watched_up_to(descriptor) >= last_index:
            return
        named = await self._call(NamedDescriptor, "getdescriptorinfo", descriptor)
        request = {"desc": named.descriptor, "range": [0, last_index], "timestamp": "now"}
        outcomes = await self._call(list[ImportOutcome], "importdescriptors", [request])
        if [outcome.success for outcome in outcomes] != [True]:
            raise NodeResponseError("the wallet does not watch the addresses")

    async def since(self, block_hash: str | None, depth: int) -> WalletEntries:
        """The entries since a block, and all without a block. The next request starts `depth` blocks below the tip."""
        return await self._call(WalletEntries, "listsinceblock", block_hash or "", depth, True, False, True)

    async def transaction(self, txid: str) -> WalletTransaction:
        """A transaction of the wallet."""
        return await self._call(WalletTransaction, "gettransaction", txid, True)

    async def find_transactions(self, txids: Sequence[str]) -> dict[str, WalletTransaction]:
        """Those of these transactions that the wallet knows."""
        calls = [RpcCall("gettransaction", (txid, True)) for txid in txids]
        found: dict[str, WalletTransaction] = {}
        for txid, outcome in zip(txids, await self._rpc.outcomes(WalletTransaction, calls), strict=True):
            if isinstance(outcome, WalletTransaction):
                found[txid] = outcome
            elif outcome is not None and outcome.code != NOT_FOUND:
                raise outcome
        return found

    async def in_mempool(self, txids: Sequence[str]) -> set[str]:
        """Which of these transactions are in the mempool."""
        calls = [RpcCall("getmempoolentry", (txid,)) for txid in txids]
        outcomes = await self._rpc.outcomes(dict[str, Any], calls)
        found: set[str] = set()
        for txid, outcome in zip(txids, outcomes, strict=True):
            if not isinstance(outcome, NodeCallError):
                found.add(txid)
            elif outcome.code != NOT_FOUND:
                raise outcome
        return found

    async def unspent(self, outpoints: Sequence[tuple[str, int]]) -> set[tuple[str, int]]:
        """Which of these outputs are in the chain, and spent by no transaction of it. The mempool does not count."""
        calls = [RpcCall("gettxout", (txid, vout, False)) for txid, vout in outpoints]
        outcomes = await self._rpc.batch(UnspentOutput, calls)
        return {outpoint for outpoint, outcome in zip(outpoints, outcomes, strict=True) if outcome is not None}

    async def coins(self) -> list[WalletCoin]:
        """The outputs of the wallet in blocks, without mined ones that are too young, and what the mempool spends."""
        return await self._call(list[WalletCoin], "listunspent", 1)

    async def fee_rate(self, blocks: int) -> int | None:
        """The rate in satoshis per 1000 virtual bytes with which a transaction is in a block within `blocks`, if known."""
        estimate = await self._call(FeeEstimate, "estimatesmartfee", blocks)
        return None if estimate.feerate is None else satoshis(estimate.feerate)

    async def broadcast(self, raw: bytes) -> None:
        """Send a transaction to the network. One that is there already is left alone."""
        try:
            await self._call(str, "sendrawtransaction", raw.hex())
        except NodeCallError as error:
            if error.code != ALREADY_IN_CHAIN:
                raise

    async def _call(self, answer: type[T], method: str, *params: Any) -> T:
        [outcome] = await self._rpc.outcomes(answer, [RpcCall(method, params)])
        if isinstance(outcome, NodeCallError):
            raise outcome
        if outcome is None:
            raise NodeResponseError(f"{method} returned nothing")
        return outcome


def satoshis(amount: Decimal) -> int:
    """An amount in BTC as satoshis. Raises `NodeResponseError` for a fraction of one."""
    scaled = amount * SATOSHIS
    if scaled != scaled.to_integral_value():
        raise NodeResponseError("an amount is not in satoshis")
    return int(scaled)


def _scripts(descriptor: str) -> str:
    """What two descriptors of the same scripts have in common: without the checksum, and where the key comes from."""
    return ORIGIN.sub("", descriptor.partition("#")[0])
