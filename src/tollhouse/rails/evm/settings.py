"""The table of an EVM network in the rails file."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from tollhouse.rails.settings import NodeSettings, RailSettings

FINALIZED: Literal["finalized"] = "finalized"
EvmAddress = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]
CurrencyCode = Annotated[str, Meta(pattern="^[A-Z0-9]{2,12}$")]
Digits = Annotated[str, Meta(pattern=r"^[0-9]{1,20}(\.[0-9]{1,36})?$")]
"""An amount as people write it: 0.05"""


class TokenSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """An ERC-20 token: its contract, and the decimals that this counts in."""

    contract: EvmAddress
    decimals: Annotated[int, Meta(ge=0, le=36)]


class EvmSettings(NodeSettings, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="evm"):
    """A network of Ethereum's kind.

    `xpub` is the extended public key whose children are the deposit addresses (BIP 44: m/44'/60'/0'/0). A payment is final
    as the chain says, or with a number of confirmations.
    `signer_socket` is that of `tollhouse signer`. With `offline_wallet`, the address of a wallet whose signer has no
    connection, operators export and import files instead. Without both nothing is paid out. A payout in no block after
    `replace_after_s` is replaced by one whose fee is `replacement_rise_percent` higher, up to `fee_per_gas_max_gwei`.
    Deposits of the currencies in `sweep_above` are collected from addresses that have at least this much, while gas costs
    at most `sweep_fee_per_gas_max_gwei`; `sweep_reserve` of the coin stays at the address.
    """

    chain_id: Annotated[int, Meta(ge=1, le=2**53)]
    coin: CurrencyCode = "ETH"
    tokens: dict[CurrencyCode, TokenSettings] = {}  # noqa: RUF012 - msgspec copies it
    finality: Literal["finalized"] | Annotated[int, Meta(ge=1, le=10_000)] = FINALIZED
    poll_interval_s: Annotated[int, Meta(ge=1, le=600)] = 4
    tip_age_max_s: Annotated[int, Meta(ge=1)] = 600
    signer_socket: str | None = None
    offline_wallet: EvmAddress | None = None
    fee_per_gas_max_gwei: Annotated[int, Meta(ge=1, le=1_000_000)] = 200
    replace_after_s: Annotated[int, Meta(ge=10)] = 300
    replacement_rise_percent: Annotated[int, Meta(ge=10, le=100)] = 12
    sweep_above: dict[CurrencyCode, Digits] = {}  # noqa: RUF012 - msgspec copies it
    sweep_fee_per_gas_max_gwei: Annotated[int, Meta(ge=1, le=1_000_000)] = 30
    sweep_reserve: Digits = "0"

    def list_errors(self, earlier: Sequence[RailSettings]) -> Iterator[str]:
        """Yield what is wrong with the table as a whole."""
        if self.coin in self.tokens:
            yield f"{self.coin} is the coin of the network and cannot be a token"
        for currency in sorted(self.sweep_above.keys() - {self.coin, *self.tokens}):
            yield f"sweep_above has {currency}, which the rail does not carry"
        if self.signer_socket is not None and self.offline_wallet is not None:
            yield "signer_socket and offline_wallet are both set"
        if self.sweep_above and self.signer_socket is None:
            yield "sweep_above needs signer_socket"
        contracts = [token.contract.lower() for token in self.tokens.values()]
        if len(set(contracts)) != len(contracts):
            yield "two tokens have the same contract"
        yield from super().list_errors(earlier)
