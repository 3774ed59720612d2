"""Conversion pairs and their terms, the sandbox's prices, and the source of prices that the worker reads."""

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from importlib import resources
from typing import Annotated

from msgspec import Meta, Struct

from tollhouse.kernel.money import MINOR_MAX

Limit = Annotated[int, Meta(ge=1, le=MINOR_MAX)]

Seconds = Annotated[int, Meta(ge=30, le=3_600)]
BasisPoints = Annotated[int, Meta(ge=1, le=5_000)]
Pointer = Annotated[str, Meta(pattern=r"^(/([^~/]|~[01])*)*$")]


class ConversionPair(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The terms of one direction. Limits are in the source currency; prices older than `maximum_age_s` are not used."""

    pair_id: str
    enabled: bool = True
    minimum_minor: Limit = 1
    maximum_minor: Limit | None = None
    fee_basis_points: Annotated[int, Meta(ge=0, le=9_999)] = 0
    maximum_age_s: Annotated[int, Meta(ge=1)] = 3_600

    @property
    def from_currency(self) -> str:
        """The source currency."""
        return self.pair_id.partition(":")[0]

    @property
    def to_currency(self) -> str:
        """The target currency."""
        return self.pair_id.partition(":")[2]


def sandbox_price(code: str) -> Fraction:
    """The test-mode price of one euro in this currency."""
    return SANDBOX_PRICES.get(code, Fraction(1))


def _read() -> dict[str, Fraction]:
    text = (resources.files("tollhouse.kernel.catalogue") / "data" / "conversions.toml").read_text("utf-8")
    return {code: Fraction(price) for code, price in tomllib.loads(text)["sandbox_prices"].items()}


SANDBOX_PRICES: Mapping[str, Fraction] = _read()


class PriceFeed(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSON document with what one euro buys, by currency code. `pointer` (RFC 6901) leads to the object with the prices.

    Prices that differ from those of `check_url` by more than `difference_basis_points`, or from the last price by more than
    `change_basis_points`, are not used.
    """

    url: str
    pointer: Pointer = "/rates"
    check_url: str | None = None
    check_pointer: Pointer = "/rates"
    every_s: Seconds = 300
    difference_basis_points: BasisPoints = 100
    change_basis_points: BasisPoints = 1_000
