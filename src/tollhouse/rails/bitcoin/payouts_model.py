"""Payouts in bitcoin and their batches, as they are stored: each batch is one transaction with its replacements."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.rails.chains.model import PayoutOrderKind

BitcoinPayoutStatus = Literal["waiting", "batched", "completed", "failed"]
BatchStatus = Literal["requested", "drafted", "signed", "broadcast", "confirmed", "canceled"]
"""`requested`: the worker makes the draft. `drafted`: it can be exported and signed. `signed`: the bytes are stored.
`broadcast`: a node has them. `confirmed`: final. A `canceled` one is confirmed if it was signed and sent by others."""


class BitcoinPayout(Struct, frozen=True, kw_only=True):
    """An order. `txid` and `fee_minor`, its share of the network fee, are of the transaction that paid it."""

    id: UUID
    kind: PayoutOrderKind
    rail: str
    mode: Mode
    currency: str
    address: str
    amount_minor: int
    status: BitcoinPayoutStatus = "waiting"
    txid: str | None = None
    fee_minor: int | None = None


class BitcoinBatch(Struct, frozen=True, kw_only=True):
    """A batch. `wanted_rate` is in satoshis per 1000 virtual bytes.

    `conflict_height` is the height at which a coin was first found to be spent by another transaction; at `void_at` that
    was final. `txid` is that of the final transaction, of whose fee no withdrawal pays `expensed_fee_minor`.
    """

    id: UUID
    rail: str
    mode: Mode
    status: BatchStatus
    is_draft_due: bool
    wanted_rate: int | None
    change_index: int | None
    txid: str | None
    confirmations: int
    expensed_fee_minor: int | None
    conflict_height: int | None
    void_at: datetime | None
    reason: str | None
    created_at: datetime
    updated_at: datetime


class BatchTransaction(Struct, frozen=True):
    """A draft of a batch, and its signed form if it was imported. Those with a higher number replace the ones before."""

    number: int
    txid: str
    psbt: str
    rate: int
    fee_minor: int
    change_minor: int
    drafted_at: datetime
    raw: bytes | None
    signed_at: datetime | None
    sent_at: datetime | None


class KnownCoin(Struct, frozen=True):
    """An output of the account in the chain: a deposit (chain 0) or change (chain 1)."""

    txid: str
    vout: int
    amount_minor: int
    chain: Literal[0, 1]
    derivation_index: int

    @property
    def outpoint(self) -> tuple[str, int]:
        """What identifies the coin."""
        return self.txid, self.vout


class Obligation(Struct, frozen=True):
    """A canceled batch of which a coin must be spent, so that its transactions can never pay the same orders as well."""

    batch_id: UUID
    outpoints: frozenset[tuple[str, int]]


class WaitingPayout(Struct, frozen=True, kw_only=True):
    """A payout that has not ended, for operators. The amount is as people write it."""

    id: UUID
    rail: str
    kind: PayoutOrderKind
    status: BitcoinPayoutStatus
    amount: str
    currency: str
    address: str
    merchant_id: MerchantId
    business_name: str
    batch_id: UUID | None
    created_at: Timestamp


class BatchSummary(Struct, frozen=True, kw_only=True):
    """A batch for operators. Amounts are as people write them; fee and transaction are those of the newest draft."""

    id: UUID
    rail: str
    status: BatchStatus
    payouts: int
    amount: str
    currency: str
    fee: str | None
    txid: str | None
    confirmations: int
    drafts: int
    is_signed: bool
    is_draft_due: bool
    is_void: bool
    reason: str | None
    created_at: Timestamp

    @property
    def is_open(self) -> bool:
        """Whether it has drafts that can be signed and replaced."""
        return self.status in {"drafted", "signed", "broadcast"}

    @property
    def is_cancelable(self) -> bool:
        """Whether nothing of it can be sent, as far as is known."""
        return self.status == "requested" or (self.is_open and (self.is_void or not self.is_signed))
