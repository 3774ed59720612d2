"""The source of prices that the worker reads."""

from typing import Annotated

from msgspec import Meta, Struct

Seconds = Annotated[int, Meta(ge=30, le=3_600)]
BasisPoints = Annotated[int, Meta(ge=1, le=5_000)]
Pointer = Annotated[str, Meta(pattern=r"^(/([^~/]|~[01])*)*$")]


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
