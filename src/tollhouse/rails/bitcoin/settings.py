"""The table of Bitcoin in the rails file."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from tollhouse.rails.settings import NodeSettings, RailSettings

Network = Literal["main", "test", "testnet4", "signet", "regtest"]
"""Bitcoin's networks, as a node names them."""


class BitcoinSettings(NodeSettings, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="bitcoin"):
    """Bitcoin, through a node with a watch-only wallet.

    `xpub` is the public key of a native SegWit account (BIP 84), also written as zpub. `fingerprint` is that of the wallet's
    master key, by which signers find their key, and `account_path` the way from it to the account. A payment counts with
    `confirmations`; up to `small_up_to_minor` satoshis, `small_confirmations` suffice for all transfers of a payment
    together. Payouts wait while the network fee is above `fee_rate_max`, in satoshis per virtual byte.
    """

    network: Network
    wallet: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")] = "tollhouse"
    fingerprint: Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}$")] | None = None
    account_path: Annotated[str, Meta(pattern="^([0-9]{1,10}['h]?/){0,9}[0-9]{1,10}['h]?$")] | None = None
    confirmations: Annotated[int, Meta(ge=1, le=100)] = 2
    small_confirmations: Annotated[int, Meta(ge=1, le=100)] = 1
    small_up_to_minor: Annotated[int, Meta(ge=0, le=2**53)] = 0
    poll_interval_s: Annotated[int, Meta(ge=1, le=600)] = 10
    tip_age_max_s: Annotated[int, Meta(ge=1)] = 10_800
    fee_rate_max: Annotated[int, Meta(ge=1, le=10_000)] = 200

    def list_errors(self, earlier: Sequence[RailSettings]) -> Iterator[str]:
        """Yield what is wrong. Two rails with one key would give out the same addresses, and both be credited."""
        same = (settings for settings in earlier if isinstance(settings, BitcoinSettings) and settings.xpub == self.xpub)
        if self.xpub is not None and any(same):
            yield "another rail has the same xpub"
        if self.small_confirmations > self.confirmations:
            yield "small_confirmations is larger than confirmations"
        yield from super().list_errors(earlier)
