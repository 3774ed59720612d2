"""A node of the tests: blocks, a mempool and one watch-only wallet, with the calls that are made to Bitcoin Core.

It answers as Bitcoin Core 28 documents its calls. It checks no signatures and no fees.
"""

import itertools
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final

import msgspec
from aiohttp import web
from btclib.tx import OutPoint, Tx, TxIn, TxOut
from msgspec import Struct

from tests.rails.bitcoin.wallet import ACCOUNT, funding
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import AccountKey, Chain

USER, PASSWORD = "tollhouse", "node-password"
GENESIS_TIME: Final = 1_790_000_000
MATURE: Final = 100
Entry = dict[str, Any]


class RefusedCallError(Exception):
    """The error that the node answers to a call."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Block(Struct):
    """A block of the chain."""

    hash: str
    txids: list[str]
    time: int


class Core:
    """The node. `fails` makes the next calls of a method fail after they were carried out, as a lost answer does."""

    def __init__(self, account: AccountKey = ACCOUNT) -> None:
        self.account = account
        self.numbers = itertools.count(1)
        self.txs: dict[str, Tx] = {}
        self.mempool: list[str] = []
        self.blocks: list[Block] = []
        self.forgotten: list[Block] = []
        self.watched: dict[str, int] = {}
        self.heights: dict[str, int] = {}
        self.takers: dict[str, str] = {}
        self.own: dict[str, list[tuple[int, str, int]]] = {}
        self.loaded = False
        self.exists = False
        self.scans = False
        self.url = ""
        self.fails: dict[str, int] = {}
        self.sent: list[str] = []
        self.fee_rate: str | None = "0.00005000"
        self.calls: list[str] = []
        self.mine(1)

    # What strangers and miners do

    def pay(self, *outputs: tuple[str, int], replaces: str | None = None, spends: Sequence[tuple[str, int]] = ()) -> str:
        """Send a transaction to the mempool: from new coins, from those of the one it replaces, or from these outputs."""
        if replaces is not None:
            inputs = self.txs[replaces].vin
        elif spends:
            inputs = [TxIn(OutPoint(bytes.fromhex(txid), vout), b"", 0xFFFFFFFD) for txid, vout in spends]
        else:
            inputs = funding(next(self.numbers), *outputs).vin
        outs = [TxOut.from_address(amount_minor, address) for address, amount_minor in outputs]
        return self.take(Tx(2, 0, inputs, outs))

    def take(self, tx: Tx) -> str:
        """Take a transaction into the mempool, instead of those that it conflicts with."""
        txid = tx.id.hex()
        for other in [one for one in self.mempool if one != txid and self._spent(one) & _inputs(tx)]:
            self.evict(other)
        self.txs[txid] = tx
        if txid not in self.mempool:
            self.mempool.append(txid)
        return txid

    def evict(self, txid: str) -> None:
        """Drop a transaction and those that spend its outputs from the mempool."""
        self.mempool.remove(txid)
        for other in [tx for tx in self.mempool if any(out.startswith(txid) for out in self._spent(tx))]:
            if other in self.mempool:
                self.evict(other)

    def mine(self, count: int = 1, *txids: str, coinbase: str | None = None) -> None:
        """Mine blocks: the first with these transactions of the mempool, by default all; one may pay a coinbase."""
        for number in range(count):
            chosen = list(txids or self.mempool) if number == 0 else []
            if coinbase is not None and number == 0:
                reward = Tx(
                    2,
                    0,
                    [TxIn(OutPoint(), bytes([3, next(self.numbers) % 256, 1, 1]))],
                    [TxOut.from_address(312_500_000, coinbase)],
                )
                self.txs[reward.id.hex()] = reward
                chosen.insert(0, reward.id.hex())
            self.mempool = [tx for tx in self.mempool if tx not in chosen]
            for one in chosen:
                for other in [late for late in self.mempool if self._spent(late) & self._spent(one)]:
                    self.evict(other)
            for one in chosen:
                self.heights[one] = len(self.blocks)
                self.takers |= dict.fromkeys(self._spent(one), one)
            name = f"{next(self.numbers):064x}"
            self.blocks.append(Block(name, chosen, GENESIS_TIME + 600 * len(self.blocks)))

    def reorganize(self, depth: int, *, keep: bool = True, blocks: int | None = None) -> None:
        """Replace the last blocks by empty ones; their transactions return to the mempool, unless they are not kept."""
        dropped = self.blocks[-depth:]
        del self.blocks[-depth:]
        self.forgotten.extend(dropped)
        for txid in [txid for block in dropped for txid in block.txids]:
            del self.heights[txid]
            for outpoint in self._spent(txid):
                del self.takers[outpoint]
        returned = [txid for block in dropped for txid in block.txids if not self.txs[txid].is_coinbase]
        waiting, self.mempool = self.mempool, []
        for _ in range(depth + 1 if blocks is None else blocks):
            self.mine(1)
        self.mempool = (returned if keep else []) + waiting

    # What the node answers

    def answer(self, method: str, params: list[Any]) -> Any:
        """The result of a call. Raises `RefusedCallError`."""
        self.calls.append(method)
        function: Callable[..., Any] | None = getattr(self, f"_{method}", None)
        if function is None:
            raise RefusedCallError(-32601, "Method not found")
        result = function(*params)
        if self.fails.get(method, 0) > 0:
            self.fails[method] -= 1
            raise ConnectionResetError
        return result

    def _getblockchaininfo(self) -> Entry:
        tip = self.blocks[-1]
        height = len(self.blocks) - 1
        return {
            "chain": self.account.network,
            "blocks": height,
            "headers": height,
            "bestblockhash": tip.hash,
            "initialblockdownload": False,
            "time": tip.time,
            "difficulty": 1.0,
        }

    def _listwallets(self) -> list[str]:
        return ["tollhouse"] if self.loaded else []

    def _loadwallet(self, name: str, on_startup: bool) -> Entry:
        assert on_startup
        if not self.exists:
            raise RefusedCallError(-18, f"Wallet file verification failed. Failed to load database path '{name}'.")
        self.loaded = True
        return {"name": name}

    def _createwallet(self, name: str, private_keys_disabled: bool, blank: bool, *_rest: Any) -> Entry:
        assert private_keys_disabled
        assert blank
        self.exists = self.loaded = True
        return {"name": name}

    def _getwalletinfo(self) -> Entry:
        self._ensure_wallet()
        return {"walletname": "tollhouse", "scanning": {"duration": 7, "progress": 0.5} if self.scans else False}

    def _getdescriptorinfo(self, descriptor: str) -> Entry:
        return {"descriptor": f"{normal(descriptor)}#checksum", "isrange": True}

    def _listdescriptors(self) -> Entry:
        self._ensure_wallet()
        return {
            "wallet_name": "tollhouse",
            "descriptors": [{"desc": desc, "range": [0, last], "active": False} for desc, last in self.watched.items()],
        }

    def _importdescriptors(self, requests: list[Entry]) -> list[Entry]:
        self._ensure_wallet()
        for request in requests:
            self.watched[request["desc"]] = request["range"][1]
        return [{"success": True} for _ in requests]

    def _listsinceblock(self, block_hash: str, depth: int, _watch_only: bool, _removed: bool, include_change: bool) -> Entry:
        self._ensure_wallet()
        assert include_change
        start = self._height(block_hash) if block_hash else -1
        entries: list[Entry] = []
        for txid, outputs in self._received().items():
            if self.heights.get(txid, start + 1) <= start:
                continue
            confirmations, block, height = self.place(txid)
            if confirmations < 0:
                continue  # conflicting transactions are not listed, which a node of the same family showed
            for vout, address, amount_minor in outputs:
                entry: Entry = {"address": address, "category": "receive", "amount": _btc(amount_minor), "vout": vout}
                if self.txs[txid].is_coinbase:
                    category = "orphan" if confirmations <= 0 else "generate" if confirmations > MATURE else "immature"
                    entry |= {"category": category, "generated": True}
                if block is not None:
                    entry |= {"blockhash": block.hash, "blockheight": height, "blocktime": block.time}
                entries.append(entry | {"txid": txid, "confirmations": confirmations, "trusted": confirmations > 0})
        return {
            "transactions": entries,
            "removed": [],
            "lastblock": self.blocks[max(0, len(self.blocks) - depth)].hash,
        }

    def _gettransaction(self, txid: str, _watch_only: bool) -> Entry:
        self._ensure_wallet()
        if txid not in self.txs:
            raise RefusedCallError(-5, "Invalid or non-wallet transaction id")
        confirmations, block, height = self.place(txid)
        found: Entry = {
            "txid": txid,
            "hex": self.txs[txid].serialize(include_witness=True).hex(),
            "confirmations": confirmations,
        }
        return found if block is None else found | {"blockhash": block.hash, "blockheight": height}

    def _getmempoolentry(self, txid: str) -> Entry:
        if txid not in self.mempool:
            raise RefusedCallError(-5, "Transaction not in mempool")
        return {"vsize": 141}

    def _gettxout(self, txid: str, vout: int, include_mempool: bool) -> Entry | None:
        assert not include_mempool
        if self.heights.get(txid) is None or f"{txid}:{vout}" in self.takers:
            return None
        return {"bestblock": self.blocks[-1].hash, "confirmations": self.place(txid)[0], "coinbase": False}

    def _listunspent(self, minconf: int) -> list[Entry]:
        self._ensure_wallet()
        taken = {outpoint for txid in self.txs if self.place(txid)[0] >= 0 for outpoint in self._spent(txid)}
        return [
            {"txid": txid, "vout": vout, "address": address, "amount": _btc(amount_minor), "confirmations": confirmations}
            for txid, outputs in self._received().items()
            if (confirmations := self.place(txid)[0]) >= (MATURE + 1 if self.txs[txid].is_coinbase else minconf)
            for vout, address, amount_minor in outputs
            if f"{txid}:{vout}" not in taken
        ]

    def _estimatesmartfee(self, blocks: int) -> Any:
        if self.fee_rate is None:
            return {"errors": ["Insufficient data or no feerate found"], "blocks": blocks}
        return {"feerate": msgspec.Raw(self.fee_rate.encode()), "blocks": blocks}

    def _sendrawtransaction(self, raw: str) -> str:
        tx = Tx.parse(bytes.fromhex(raw))
        txid = tx.id.hex()
        if txid in self.txs and self.place(txid)[0] > 0:
            raise RefusedCallError(-27, "Transaction outputs already in utxo set")
        if any(one in self.takers for one in _inputs(tx)):
            raise RefusedCallError(-25, "bad-txns-inputs-missingorspent")
        rivals = [self.txs[one] for one in self.mempool if one != txid and self._spent(one) & _inputs(tx)]
        if any(self._fee(rival) >= self._fee(tx) for rival in rivals):
            raise RefusedCallError(-26, "insufficient fee, rejecting replacement")
        self.sent.append(txid)
        return self.take(tx)

    def _fee(self, tx: Tx) -> int:
        spent = (self.txs.get(spent.prev_out.tx_id.hex()) for spent in tx.vin)
        paid = sum(found.vout[one.prev_out.vout].value for one, found in zip(tx.vin, spent, strict=True) if found)
        return paid - sum(output.value for output in tx.vout)

    def place(self, txid: str) -> tuple[int, Block | None, int | None]:
        """The confirmations, the block and its height of a transaction; negative if another one took its inputs."""
        height = self.heights.get(txid)
        if height is not None:
            return len(self.blocks) - height, self.blocks[height], height
        taken = [self.heights[self.takers[outpoint]] for outpoint in self._spent(txid) if outpoint in self.takers]
        return (min(taken) - len(self.blocks) if taken else 0), None, None

    def _height(self, block_hash: str) -> int:
        for height, block in enumerate(self.blocks):
            if block.hash == block_hash:
                return height
        if any(block.hash == block_hash for block in self.forgotten):
            return -1  # the node answers from where the branches part; to begin earlier says more
        raise RefusedCallError(-5, "Block not found")

    def _received(self) -> dict[str, list[tuple[int, str, int]]]:
        """The outputs of each transaction to addresses that are watched."""
        found: set[str] = set()
        fresh = [txid for txid in self.txs if txid not in self.own]
        for descriptor, last in self.watched.items() if fresh else ():
            chain = keys.CHANGE if "/1/*" in descriptor else keys.DEPOSITS
            found.update(_addresses(self.account, chain, last))
        for txid in fresh:
            outputs = [(vout, out.script_pub_key.address, out.value) for vout, out in enumerate(self.txs[txid].vout)]
            self.own[txid] = [output for output in outputs if output[1] in found]
        return self.own

    def _spent(self, txid: str) -> set[str]:
        return _inputs(self.txs[txid])

    def _ensure_wallet(self) -> None:
        if not self.loaded:
            raise RefusedCallError(-18, "Requested wallet does not exist or is not loaded")


@asynccontextmanager
async def serving(core: Core) -> AsyncIterator[str]:
    """Serve the node by HTTP. Yields its URL with user and password."""

    async def respond(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}":
            return web.Response(status=401)
        assert request.path == "/wallet/tollhouse"
        answers: list[Entry] = []
        for call in msgspec.json.decode(await request.read()):
            try:
                answers.append({"id": call["id"], "result": core.answer(call["method"], call["params"]), "error": None})
            except RefusedCallError as error:
                answers.append({"id": call["id"], "result": None, "error": {"code": error.code, "message": str(error)}})
            except ConnectionResetError:
                return web.Response(status=500)
        return web.Response(body=msgspec.json.encode(answers), content_type="application/json")

    app = web.Application()
    app.router.add_post("/{path:.*}", respond)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{USER}:{PASSWORD}@{host}:{port}"
    finally:
        await runner.cleanup()


@cache
def _addresses(account: AccountKey, chain: Chain, last: int) -> list[str]:
    return keys.addresses(account, chain, range(last + 1))


def normal(descriptor: str) -> str:
    """A descriptor as the node writes it: hardened steps with an apostrophe."""
    return re.sub(r"(?<=[0-9])h(?=[]/])", "'", descriptor)


def _inputs(tx: Tx) -> set[str]:
    return {f"{spent.prev_out.tx_id.hex()}:{spent.prev_out.vout}" for spent in tx.vin if not tx.is_coinbase}


def _btc(amount_minor: int) -> msgspec.Raw:
    return msgspec.Raw(f"{amount_minor // 10**8}.{amount_minor % 10**8:08d}".encode())
