"""Which currencies can be converted into which, on what terms; and what they cost in the sandbox."""

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from importlib import resources
from typing import Annotated

from msgspec import Meta, Struct

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.kernel.money import MINOR_MAX

Limit = Annotated[int, Meta(ge=1, le=MINOR_MAX)]


class ConversionPair(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The terms of one direction. Limits are of the currency that is given; a price older than the maximum is none."""

    pair_id: str
    enabled: bool = True
    minimum_minor: Limit = 1
    maximum_minor: Limit | None = None
    fee_basis_points: Annotated[int, Meta(ge=0, le=9_999)] = 0
    maximum_age_s: Annotated[int, Meta(ge=1)] = 3_600

    @property
    def from_currency(self) -> str:
        """What is given: the part of the id before the colon."""
        return self.pair_id.partition(":")[0]

    @property
    def to_currency(self) -> str:
        """What is got: the part of the id behind the colon."""
        return self.pair_id.partition(":")[2]


def pair(from_currency: str, to_currency: str) -> ConversionPair:
    """The terms of this pair; the usual ones where the operator's file does not say others."""
    pair_id = f"{from_currency}:{to_currency}"
    return TERMS.get(pair_id) or ConversionPair(pair_id=pair_id)


def pairs() -> list[ConversionPair]:
    """Every pair of two currencies that can be converted, both ways."""
    codes = [code for code, currency in CURRENCIES.items() if currency.operations.conversions]
    return [pair(one, other) for one in codes for other in codes if one != other]


def sandbox_price(code: str) -> Fraction:
    """What one euro buys of this currency in test mode."""
    return SANDBOX_PRICES.get(code, Fraction(1))


def _read() -> dict[str, Fraction]:
    text = (resources.files("tollhouse.catalogue") / "data" / "conversions.toml").read_text("utf-8")
    return {code: Fraction(price) for code, price in tomllib.loads(text)["sandbox_prices"].items()}


SANDBOX_PRICES: Mapping[str, Fraction] = _read()
TERMS: dict[str, ConversionPair] = {}
"""The terms that the operator's file says, by the pair's id: `EUR:USD`."""
