"""What the worker sends to the signer, and what it answers: one JSON object per line. No private key is ever in one."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

LINE_BYTES_MAX = 256 * 1024
INDEXES_MAX = 1_000
UNITS_MAX = 2**256 - 1
Purpose = Literal["payout", "gas", "sweep"]
"""Money of a merchant that leaves; ether for the fee of a sweep; what a deposit address has, to the wallet that collects."""

Units = Annotated[str, Meta(pattern="^(0|[1-9][0-9]{0,77})$")]
"""A whole number of the smallest unit on the chain, as text: it can exceed 64 bits."""
Name = Annotated[str, Meta(min_length=1, max_length=64)]
Index = Annotated[int, Meta(ge=0, lt=2**31)]
Wei = Annotated[int, Meta(ge=0, le=2**63 - 1)]

RefusedCode = Literal[
    "request_invalid",
    "network_unknown",
    "chain_different",
    "asset_unknown",
    "contract_different",
    "receiver_invalid",
    "receiver_not_allowed",
    "amount_invalid",
    "limit_per_transfer",
    "limit_per_day",
    "gas_too_high",
    "fee_too_high",
    "fees_per_day",
    "order_different",
    "order_has_nonce",
    "nonce_used",
    "replacement_underpriced",
    "journal_unusable",
]


class TransferOrder(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One transfer of an asset. `contract` is None for the network's own currency.

    `index` is that of the deposit address which a sweep empties, or which gets the ether for its fee; None for payouts.
    """

    order_id: UUID
    purpose: Purpose = "payout"
    network: Name
    chain_id: Annotated[int, Meta(ge=1, lt=2**53)]
    asset: Name
    contract: str | None = None
    receiver: str
    amount: Units
    index: Index | None = None


class GasTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """The most gas that the transfer may use, and the most that it pays for a unit: in all, and to the validator. In wei."""

    gas: Annotated[int, Meta(ge=21_000, lt=2**32)]
    fee_per_gas: Wei
    tip_per_gas: Wei

    @property
    def cost(self) -> int:
        """The most that the transfer can cost, in wei."""
        return self.gas * self.fee_per_gas


class SignTransfer(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="sign"):
    """Sign the transfer with this nonce. The same request gets the same bytes; a higher fee replaces them."""

    order: TransferOrder
    nonce: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    terms: GasTerms


class FindSigned(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="find"):
    """All that was signed for an order."""

    order_id: UUID


class DescribeWallet(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="wallet"):
    """The wallet that pays on a network."""

    network: Name


class DeriveAddresses(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="addresses"):
    """The deposit addresses of these indexes, derived from the signer's own keys."""

    indexes: Annotated[tuple[Index, ...], Meta(max_length=INDEXES_MAX)]


class SignedTransfer(Struct, frozen=True, tag_field="is", tag="signed"):
    """A signed transaction: its bytes as a node takes them and its hash, both as 0x and hexadecimal digits."""

    order_id: UUID
    wallet: str
    nonce: int
    terms: GasTerms
    tx_hash: str
    raw: str


class FoundSigned(Struct, frozen=True, tag_field="is", tag="found"):
    """All that was signed for an order, oldest first: of one transfer, with one nonce."""

    signed: tuple[SignedTransfer, ...]


class WalletFacts(Struct, frozen=True, tag_field="is", tag="wallet"):
    """The wallet's address, and the first nonce above all that it has signed; 0 if it has signed nothing.

    `fees_per_day` is the limit of fees in 24 hours and `fees_used` what is used of it, in wei; None where that is not known.
    """

    address: str
    chain_id: int
    next_nonce: int
    sweep_to: str
    fees_per_day: str | None = None
    fees_used: str | None = None


class DepositAddresses(Struct, frozen=True, tag_field="is", tag="addresses"):
    """The addresses in the order of the indexes."""

    addresses: tuple[str, ...]


class SigningRefused(Struct, frozen=True, tag_field="is", tag="refused"):
    """Nothing was signed by this request. The message is a sentence for operators."""

    code: RefusedCode
    message: str


class UnsignedBatch(Struct, frozen=True, forbid_unknown_fields=True):
    """Transfers to sign on a machine without network."""

    transfers: tuple[SignTransfer, ...]


class SignedBatch(Struct, frozen=True):
    """What was signed, and what was not."""

    signed: tuple[SignedTransfer, ...]
    refused: tuple[SigningRefused, ...] = ()


SignerRequest = SignTransfer | FindSigned | DescribeWallet | DeriveAddresses
SignerResponse = SignedTransfer | FoundSigned | WalletFacts | DepositAddresses | SigningRefused
REQUESTS = msgspec.json.Decoder(SignerRequest)
RESPONSES = msgspec.json.Decoder(SignerResponse)
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of a line that cannot be decoded."""


def line_of(message: SignerRequest | SignerResponse) -> bytes:
    """The message as a line."""
    return msgspec.json.encode(message) + b"\n"
