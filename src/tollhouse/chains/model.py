"""What is kept about a block chain: deposits, and where its worker is."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

DepositState = Literal["seen", "vanished", "final", "confirmed", "ignored", "lost", "reversed", "reinstated"]


class BlockId(Struct, frozen=True):
    """A block by number and hash."""

    number: int
    hash: str


class Cursor(Struct, frozen=True):
    """The last final block that was read, and earlier ones, newest last, to find where a reorganisation began."""

    block: BlockId
    earlier: tuple[BlockId, ...] = ()


class Deposit(Struct, frozen=True, kw_only=True):
    """What one transaction sent to one of our addresses in one currency.

    `seen`: in a block that is not final; `vanished`: in none any more; `final`: to be credited; `confirmed`: credited;
    `ignored`: worth nothing; `lost`: credited, and its block was replaced; `reversed`: credited and gone;
    `reinstated`: reversed, and on the final chain again. `address` is in lower case, `units` are those of the chain.
    """

    tx_hash: str
    address: str
    currency: str
    sender: str | None
    units: int
    amount_minor: int
    block_number: int
    block_hash: str
    block_at: datetime
    status: DepositState
    reported_block_hash: str | None = None
    reported_confirmations: int = 0

    @property
    def reference(self) -> str:
        """The rail's id of the deposit, whatever block it is in."""
        return f"{self.tx_hash}:{self.address}:{self.currency}"


class AddressRow(Struct, frozen=True):
    """A deposit address. `shown` is the address that its payment shows; None without a payment."""

    derivation_index: int
    address: str
    shown: str | None
