"""What is kept about a block chain: deposits, and where its worker is."""

from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import uuid4

from msgspec import Struct

from tollhouse.platform.database.records import Columns

DepositState = Literal["seen", "vanished", "final", "confirmed", "ignored", "lost", "reversed", "reinstated"]


LEASE = timedelta(seconds=60)
HOLDER = uuid4()
"""This worker, among those that could follow a chain."""


NetworkTransferKind = Literal["withdrawal", "refund", "sweep", "gas"]
"""Orders of merchants; what a deposit address has, to the address that collects; coin for the fee of that."""


def whole(column: str) -> Columns:
    """A numeric column that is a whole number: of units of a chain, which are more than a bigint can have."""
    return Columns({column: "real"}, int)


class BlockId(Struct, frozen=True):
    """A block by number and hash."""

    number: int
    hash: str


class Cursor(Struct, frozen=True):
    """The last final block that was read, and earlier ones, newest last, to find where a reorganisation began.

    `balances_up_to` is the number of the last block after which balances were compared with deposits: what arrived up to it
    is known. 0 since a reorganisation.
    """

    block: BlockId
    earlier: tuple[BlockId, ...] = ()
    balances_up_to: int = 0


class Deposit(Struct, frozen=True, kw_only=True):
    """What one transaction sent to one of our addresses in one currency.

    `seen`: in a block that is not final; `vanished`: in none any more; `final`: to be credited; `confirmed`: credited;
    `ignored`: worth nothing; `lost`: credited, its block was replaced, and it was not found again yet; `reversed`: reported
    as gone; `reinstated`: on the final chain again, and to be reported. `address` is in lower case, `units` are those of the
    chain. `reversal_ref` names the last of its `reversals`.
    """

    tx_hash: str
    address: str
    currency: str
    sender: str | None
    units: Annotated[int, whole("units")]
    amount_minor: int
    block_number: int
    block_hash: str
    block_at: datetime
    status: DepositState
    reported_block_hash: str | None = None
    reported_confirmations: int = 0
    reversal_ref: str | None = None
    reversals: int = 0

    @property
    def next_reversal_ref(self) -> str:
        """The rail's id of its next reversal: the replaced block, which can be replaced more than once."""
        return f"{self.block_hash}/{self.reversals + 1}" if self.reversals else self.block_hash

    @property
    def reference(self) -> str:
        """The rail's id of the deposit, whatever block it is in."""
        return f"{self.tx_hash}:{self.address}:{self.currency}"


class AddressRow(Struct, frozen=True):
    """A deposit address. `shown` is the address that its payment shows; None without a payment."""

    derivation_index: int
    address: str
    shown: str | None


class ChainMismatchError(Exception):
    """The node is not on the chain that was followed: `reason` is for operators."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LeaseLostError(Exception):
    """Another worker follows the chain now. Nothing of this step was stored."""
