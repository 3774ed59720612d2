"""A network in memory: blocks, the state after each of them, and transactions that wait.

Bytes that were sent to it are signed; strangers pay without signatures, and have any amount.
"""

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, cast

from msgspec import Struct, field

GENESIS_TIME: Final = 1_790_000_000
BLOCK_S: Final = 12
STATES_KEPT: Final = 300
"""Blocks whose balances the nodes still know."""
TRANSFER_GAS, TOKEN_GAS = 21_000, 50_000
GWEI: Final = 10**9


class Move(Struct, frozen=True):
    """What a transaction sends to one address: of a token, or, without a contract, of the coin."""

    contract: str | None
    receiver: str
    units: int


class ChainTx(Struct, frozen=True, kw_only=True):
    """A transaction. Without a nonce it is of a stranger, who has any amount. `is_fragile`: some blocks revert it."""

    hash: str
    sender: str
    to: str
    value: int = 0
    moves: tuple[Move, ...] = ()
    nonce: int | None = None
    gas: int = 0
    fee_per_gas: int = 0
    tip_per_gas: int = 0
    is_fragile: bool = False


class MinedTx(Struct, frozen=True):
    """A transaction in a block, and whether it was reverted."""

    tx: ChainTx
    was_reverted: bool
    fee_wei: int
    gas_used: int


class Block(Struct, frozen=True, kw_only=True):
    """A block. `token_fee_percent`: what tokens keep of strangers' transfers. `balances` is empty when it is forgotten."""

    number: int
    hash: str
    parent_hash: str
    timestamp: int
    base_fee: int
    token_fee_percent: int
    txs: tuple[MinedTx, ...]
    balances: dict[tuple[str | None, str], int] = field(default_factory=dict[tuple[str | None, str], int])
    nonces: dict[str, int] = field(default_factory=dict[str, int])


class FakeChain:
    """The network. `now` and all that was ever mined can be asked for by block."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.numbers = itertools.count(1)
        self.blocks: dict[str, Block] = {}
        self.canon: list[str] = []
        self.mined_in: dict[str, list[str]] = {}
        self.by_number: dict[int, list[Block]] = {}
        self.mempool: list[ChainTx] = []
        self.base_fee = GWEI
        self.token_fee_percent = 0
        self.finalized = 0
        self.forgets = False
        self.mine()

    @property
    def head(self) -> Block:
        """The newest block."""
        return self.blocks[self.canon[-1]]

    def new_hash(self) -> str:
        """The hash of a new block or transaction."""
        return f"0x{next(self.numbers):064x}"

    def mint(self, contract: str | None, address: str, units: int) -> None:
        """Give an address something from nowhere, in the newest block."""
        key = (contract, address.lower())
        self.head.balances[key] = self.head.balances.get(key, 0) + units

    def pay(self, *moves: Move, is_internal: bool = False, is_fragile: bool = False) -> ChainTx:
        """A stranger sends this to the mempool: coins directly or by a contract, tokens by their contract."""
        to, value = moves[0].contract or moves[0].receiver, moves[0].units
        if is_internal:
            to, value = f"0x{'c' * 40}", 0
        sender = f"0x{'5' * 39}{self.random.randrange(16):x}"
        value = value if moves[0].contract is None else 0
        tx = ChainTx(hash=self.new_hash(), sender=sender, to=to, value=value, moves=moves, is_fragile=is_fragile)
        self.mempool.append(tx)
        return tx

    def mine(self, count: int = 1, choose: Callable[[ChainTx], bool] = lambda _: True) -> None:
        """Add blocks; the first contains what was chosen of what waits, as far as it can be in a block."""
        for number in range(count):
            parent = self.head if self.canon else None
            balances = dict[tuple[str | None, str], int]() if parent is None else dict(parent.balances)
            nonces = dict[str, int]() if parent is None else dict(parent.nonces)
            chosen = [tx for tx in self.mempool if choose(tx)] if number == 0 else []
            mined = list[MinedTx]()
            for tx in sorted(chosen, key=lambda one: (one.nonce or 0, -one.fee_per_gas)):
                done = self._run(tx, balances, nonces)
                if done is not None:
                    mined.append(done)
            block = Block(
                number=len(self.canon),
                hash=self.new_hash(),
                parent_hash=f"0x{0:064x}" if parent is None else parent.hash,
                timestamp=GENESIS_TIME + BLOCK_S * len(self.canon),
                base_fee=self.base_fee,
                token_fee_percent=self.token_fee_percent,
                txs=tuple(mined),
                balances=balances,
                nonces=nonces,
            )
            self._append(block)
            self.mempool = [tx for tx in self.mempool if self._still_waits(tx, nonces)]

    def reorganize(self, depth: int, keep: Callable[[ChainTx], bool] = lambda _: False, blocks: int | None = None) -> None:
        """Replace the last blocks by empty ones, one more unless it is said. What is kept of theirs waits again."""
        dropped = self.canon[-depth:]
        del self.canon[-depth:]
        returned = [tx.tx for name in dropped for tx in self.blocks[name].txs if keep(tx.tx)]
        self.mempool = [*returned, *(tx for tx in self.mempool if tx not in returned)]
        self.mine(depth + 1 if blocks is None else blocks, lambda _: False)

    def return_to(self, name: str) -> None:
        """Follow the branch of this block again, and add blocks until it is the longest. What it has waits no longer."""
        length, branch = len(self.canon), list[str]()
        while name not in self.canon[: self.blocks[name].number + 1][-1:]:
            branch.append(name)
            name = self.blocks[name].parent_hash
        self.canon = [*self.canon[: self.blocks[name].number + 1], *reversed(branch)]
        self.mempool = [tx for tx in self.mempool if self.find(self.head, tx.hash) is None]
        self.mine(max(length + 1 - len(self.canon), 0), lambda _: False)

    def at(self, head: Block, number: int) -> Block | None:
        """The block of this number, as a node with this newest block has it."""
        if not 0 <= number <= head.number:
            return None
        while head.number > number:
            if head.number < len(self.canon) and self.canon[head.number] == head.hash:
                return self.blocks[self.canon[number]]
            head = self.blocks[head.parent_hash]
        return head

    def find(self, head: Block, tx_hash: str) -> tuple[Block, MinedTx] | None:
        """A transaction and its block, as a node with this newest block has it."""
        for name in self.mined_in.get(tx_hash, ()):
            block = self.blocks[name]
            if self.at(head, block.number) == block:
                return block, next(tx for tx in block.txs if tx.tx.hash == tx_hash)
        return None

    def send(self, raw: str) -> str:
        """Take signed bytes into the mempool, and return their hash. Raises `ValueError` with a node's own words."""
        tx = decode(raw)
        if tx.nonce is None:
            raise ValueError("invalid transaction")
        if tx in self.mempool:
            raise ValueError("already known")
        if tx.nonce < self.head.nonces.get(tx.sender, 0):
            raise ValueError(f"nonce too low: next nonce {self.head.nonces.get(tx.sender, 0)}, tx nonce {tx.nonce}")
        rival = next((one for one in self.mempool if (one.sender, one.nonce) == (tx.sender, tx.nonce)), None)
        if rival is not None:
            fees = ((tx.fee_per_gas, rival.fee_per_gas), (tx.tip_per_gas, rival.tip_per_gas))
            if any(new * 10 < old * 11 for new, old in fees):
                raise ValueError("replacement transaction underpriced")
            self.mempool.remove(rival)
        if self.head.balances.get((None, tx.sender), 0) < tx.value + tx.gas * tx.fee_per_gas:
            raise ValueError("insufficient funds for gas * price + value")
        self.mempool.append(tx)
        return tx.hash

    def next_nonce(self, head: Block, address: str, *, pending: bool = False) -> int:
        """The nonce that an address has next."""
        nonce = head.nonces.get(address, 0)
        waiting = {tx.nonce for tx in self.mempool if tx.sender == address}
        while pending and nonce in waiting:
            nonce += 1
        return nonce

    def _run(self, tx: ChainTx, balances: dict[tuple[str | None, str], int], nonces: dict[str, int]) -> MinedTx | None:
        if tx.nonce is None:
            reverted = tx.is_fragile and self.random.random() < 0.5
            if not reverted:
                self._transfer(tx.moves, None, balances)
            return MinedTx(tx, reverted, TRANSFER_GAS * self.base_fee, TRANSFER_GAS)
        used, price = (TRANSFER_GAS if tx.value else TOKEN_GAS), min(tx.fee_per_gas, self.base_fee + tx.tip_per_gas)
        coins = balances.get((None, tx.sender), 0)
        if nonces.get(tx.sender, 0) != tx.nonce or tx.fee_per_gas < self.base_fee or coins < tx.value + used * price:
            return None
        nonces[tx.sender] = tx.nonce + 1
        balances[None, tx.sender] = coins - used * price
        reverted = any(balances.get((move.contract, tx.sender), 0) < move.units for move in tx.moves)
        if not reverted:
            self._transfer(tx.moves, tx.sender, balances)
        return MinedTx(tx, reverted, used * price, used)

    def _transfer(self, moves: Sequence[Move], sender: str | None, balances: dict[tuple[str | None, str], int]) -> None:
        for move in moves:
            is_whole = move.contract is None or sender is not None
            arrives = move.units if is_whole else move.units * (100 - self.token_fee_percent) // 100
            key = (move.contract, move.receiver)
            balances[key] = balances.get(key, 0) + arrives
            if sender is not None:
                balances[move.contract, sender] -= move.units

    def _append(self, block: Block) -> None:
        self.blocks[block.hash] = block
        self.canon.append(block.hash)
        for tx in block.txs:
            self.mined_in.setdefault(tx.tx.hash, []).append(block.hash)
        self.by_number.setdefault(block.number, []).append(block)
        for forgotten in self.by_number.pop(block.number - STATES_KEPT, []):
            forgotten.balances.clear()
            forgotten.nonces.clear()

    def has_state(self, block: Block) -> bool:
        """Whether the nodes still know balances and nonces after a block."""
        return not self.forgets and block.number in self.by_number

    def _still_waits(self, tx: ChainTx, nonces: dict[str, int]) -> bool:
        if tx.nonce is None:
            return all(one.tx != tx for one in self.head.txs)
        return tx.nonce >= nonces.get(tx.sender, 0)


def decode(raw: str) -> ChainTx:
    """The transaction of signed bytes, and who signed them."""
    from eth_account import Account  # noqa: PLC0415 - most tests that use the chain send nothing
    from eth_account.typed_transactions.typed_transaction import TypedTransaction  # noqa: PLC0415
    from eth_hash.auto import keccak  # noqa: PLC0415
    from hexbytes import HexBytes  # noqa: PLC0415

    account: Any = Account
    sender = cast("str", account.recover_transaction(raw)).lower()
    typed: Any = TypedTransaction.from_bytes(HexBytes(raw))
    fields = typed.as_dict()
    to, data, value = "0x" + bytes(fields["to"]).hex(), bytes(fields["data"]), int(fields["value"])
    move = Move(None, to, value)
    if data:
        move = Move(to, "0x" + data[16:36].hex(), int.from_bytes(data[36:68], "big"))
    return ChainTx(
        hash=f"0x{keccak(HexBytes(raw)).hex()}",
        sender=sender,
        to=to,
        value=value,
        moves=(move,),
        nonce=int(fields["nonce"]),
        gas=int(fields["gas"]),
        fee_per_gas=int(fields["maxFeePerGas"]),
        tip_per_gas=int(fields["maxPriorityFeePerGas"]),
    )
