"""The currencies of the house, from a data file: scale, chains, and what can be done with each."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.money import format_minor

DECIMALS_MAX = 8
"""The ledger's finest scale: a minor amount then fits a bigint and an integer that every JSON reader can hold."""

Words = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,60}$")]


class Operations(Struct, frozen=True, forbid_unknown_fields=True):
    """What a currency can be used for."""

    balances: bool = True
    payments: bool = True
    withdrawals: bool = True
    conversions: bool = True


class Chain(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network that carries the currency. `deposit` does not imply `withdrawal`."""

    network: Annotated[str, Meta(pattern="^[a-z0-9_-]{1,32}$")]
    asset_id: Words | None = None
    onchain_decimals: Annotated[int, Meta(ge=0, le=36)]
    confirmations: Annotated[str, Meta(pattern="^(finalized|[1-9][0-9]{0,3})$")]
    deposit: bool
    withdrawal: bool


class Currency(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One currency, as GET /currencies shows it but for the environment."""

    code: str
    name: Words
    type: Literal["fiat", "crypto"]
    decimals: Annotated[int, Meta(ge=0, le=DECIMALS_MAX)]
    symbol: Words
    operations: Operations = Operations()
    balance_payment_supported: bool = True
    chains: tuple[Chain, ...] = ()

    def format(self, minor: int) -> str:
        """The decimal string of an amount."""
        return format_minor(minor, self.decimals)


def currency(code: str) -> Currency | None:
    """The currency of this exact code; None when there is none."""
    return CURRENCIES.get(code)


def format_amount(minor: int, code: str) -> str:
    """The decimal string of an amount of a currency that is known to exist, such as a stored one."""
    return CURRENCIES[code].format(minor)


def priced(minor: int, code: str) -> str:
    """The same with its currency: `12.50 EUR`."""
    return f"{format_amount(minor, code)} {code}"


def _read() -> dict[str, Currency]:
    text = (resources.files("tollhouse.catalogue") / "data" / "currencies.toml").read_text("utf-8")
    return {code: msgspec.convert({"code": code, **facts}, Currency) for code, facts in tomllib.loads(text).items()}


BUILT_IN: Mapping[str, Currency] = _read()
CURRENCIES: dict[str, Currency] = dict(BUILT_IN)
"""What this house has: the built-in ones, and what its operator added before it opened."""
