"""Payouts on chains as they are stored: a nonce first, then signed bytes, then a block."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.records import Columns
from tollhouse.rails.batches.model import OrderKind
from tollhouse.rails.chains.model import NetworkTransferKind, whole
from tollhouse.rails.evm.signer.messages import GasTerms

NetworkPayoutState = Literal["waiting", "reserved", "signed", "mined", "completed", "failed"]
"""`waiting`: no nonce, nothing signed. `reserved`: has a nonce, and may be signed. `signed`: the bytes are stored.
`mined`: in a block that can still vanish. `completed` and `failed` are final."""
WaitsFor = Literal["float", "gas_price", "turn", "share", "operator"]
"""Too little in the wallet; gas above the maximum; another payout is being signed; refunds have used their share of fees;
limits of the signer and others."""
TERMS = Columns({"gas": "gas", "fee_per_gas": "fee_per_gas", "tip_per_gas": "tip_per_gas"})
OPEN: tuple[NetworkPayoutState, ...] = ("reserved", "signed", "mined")


class NewChainPayout(Struct, frozen=True, kw_only=True):
    """An order on its way to a rail. `contract` and `receiver` are in lower case; amounts are in the smallest unit.

    `deposit_index` is that of the address which a sweep empties, or which gets coin for its fee; None for payouts.
    """

    id: UUID
    kind: NetworkTransferKind
    rail: str
    mode: Mode
    chain_id: int
    currency: str
    contract: str | None
    receiver: str
    amount_units: Annotated[int, whole("amount_units")]
    deposit_index: int | None = None


class ChainPayout(NewChainPayout, frozen=True, kw_only=True):
    """A stored payout. `terms` are those that its nonce was reserved with; `tx_hash` and `fee_wei` are of its block.

    `refused_by_action_id` is the action of the operator who wants it refused: it is not signed then. `exported_at` is when
    its nonce was given out in a file: it may be signed since then.
    """

    status: NetworkPayoutState
    reason: str | None
    wallet: str | None
    nonce: int | None
    terms: Annotated[GasTerms | None, TERMS]
    tx_hash: str | None
    fee_wei: Annotated[int | None, whole("fee_wei")]
    refused_by_action_id: UUID | None
    exported_at: datetime | None
    created_at: datetime
    updated_at: datetime


class OpenChainPayout(Struct, frozen=True, kw_only=True):
    """A payout that has not ended, for operators: the amount as people write it, and why it waits."""

    id: UUID
    rail: str
    kind: OrderKind
    status: NetworkPayoutState
    amount: str
    currency: str
    receiver: str
    nonce: int | None
    reason: str | None
    tx_hash: str | None
    created_at: Timestamp


class Sweep(Struct, frozen=True, kw_only=True):
    """A transfer that collects deposits, or pays for that, as operators see it.

    `amount` is as people write it; None where the rail no longer carries the currency.
    """

    id: UUID
    rail: str
    kind: NetworkTransferKind
    status: NetworkPayoutState
    amount: str | None
    currency: str
    address: str
    receiver: str
    reason: str | None
    tx_hash: str | None
    created_at: Timestamp


class ChainTransaction(Struct, frozen=True):
    """Signed bytes of a payout. Those with a higher number replace the ones before: all have the same nonce."""

    number: int
    tx_hash: str
    raw: str
    terms: Annotated[GasTerms, TERMS]
    signed_at: datetime
    sent_at: datetime | None


class ChainFee(Struct, frozen=True):
    """What a network took, as it is in the ledger: in the network's coin."""

    currency: str
    amount_minor: int


class MinedTransfer(Struct, frozen=True):
    """Where a transaction is, and what it cost."""

    tx_hash: str
    block_number: int
    block_hash: str
    fee_wei: int
