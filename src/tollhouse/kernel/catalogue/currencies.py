"""The currencies: scale, chains and supported operations."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.examples import example
from tollhouse.kernel.money import format_minor
from tollhouse.kernel.text import Text, as_text

DECIMALS_MAX = 8
"""The finest scale: minor amounts fit a bigint and a JSON integer."""

Words = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,60}$")]


class CurrencyOperations(Struct, frozen=True, forbid_unknown_fields=True):
    """The operations a currency supports."""

    balances: bool = True
    """Whether a balance can be held in it."""
    payments: bool = True
    """Whether payment links can have it."""
    withdrawals: bool = True
    """Whether it can be withdrawn."""
    conversions: bool = True
    """Whether it can be converted."""


class Chain(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network that carries the currency. `deposit` does not imply `withdrawal`."""

    network: Annotated[str, Meta(pattern="^[a-z0-9_-]{1,32}$")]
    """Name of the network."""
    asset_id: Words | None = None
    """Contract of the token; null for the network's own coin."""
    onchain_decimals: Annotated[int, Meta(ge=0, le=36), example(2)]
    """Digits after the point of amounts on the network."""
    confirmations: Annotated[str, Meta(pattern="^(finalized|[1-9][0-9]{0,3})$"), example("finalized")]
    """When a transfer counts as final: a number of blocks, or `finalized`."""
    deposit: bool
    """Whether payments can arrive on it."""
    withdrawal: bool
    """Whether withdrawals can leave on it."""


class Currency(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A currency, as GET /currencies shows it."""

    code: str
    name: Words
    type: Literal["fiat", "crypto"]
    decimals: Annotated[int, Meta(ge=0, le=DECIMALS_MAX)]
    symbol: Words
    operations: CurrencyOperations = CurrencyOperations()
    balance_payment_supported: bool = True
    chains: tuple[Chain, ...] = ()

    @property
    def label(self) -> Text:
        """Code and name, for pages."""
        return Text("%(code)s, %(name)s", code=self.code, name=as_text(self.name))

    def format(self, minor: int) -> str:
        """The decimal string of an amount."""
        return format_minor(minor, self.decimals)


def _read() -> dict[str, Currency]:
    text = (resources.files("tollhouse.kernel.catalogue") / "data" / "currencies.toml").read_text("utf-8")
    return {code: msgspec.convert({"code": code, **facts}, Currency) for code, facts in tomllib.loads(text).items()}


BUILT_IN: Mapping[str, Currency] = _read()
