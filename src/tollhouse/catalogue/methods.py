"""The hosted checkout methods that live mode knows, from a data file, and what a method is."""

import tomllib
from importlib import resources
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.kernel.money import percentage

MethodType = Literal["card", "bank_transfer", "crypto", "simulator"]
UnavailableReason = Literal[
    "provider_not_configured",
    "provider_down",
    "disabled_by_merchant",
    "disabled_by_operator",
    "not_in_environment",
    "currency_not_supported",
    "amount_out_of_range",
    "project_not_allowed",
]


class Fees(Struct, frozen=True, forbid_unknown_fields=True):
    """What the platform keeps of a payment: a fixed part and a share, within bounds. Free, left to itself."""

    fixed_minor: int = 0
    basis_points: int = 0
    minimum_minor: int = 0
    maximum_minor: int | None = None

    def of(self, amount_minor: int) -> int:
        """The fee of this amount, in minor units; never more than the amount."""
        fee = max(self.fixed_minor + percentage(amount_minor, self.basis_points), self.minimum_minor)
        if self.maximum_minor is not None:
            fee = min(fee, self.maximum_minor)
        return min(fee, amount_minor)


class Method(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A way to pay at the hosted checkout. `push`: the customer sends the money, nobody draws it."""

    method_id: str
    name: str
    type: MethodType
    rail: str
    minimum_minor: int = 1
    maximum_minor: int | None = None
    fees: Fees = Fees()
    push: bool = True
    refundable: bool = True
    confirmation: Literal["instant", "minutes", "days"]

    @property
    def network(self) -> str:
        """What carries it: the part of the id before the colon."""
        return self.method_id.partition(":")[0]

    @property
    def asset(self) -> str:
        """The currency it carries: the part of the id behind the colon."""
        return self.method_id.partition(":")[2]

    def takes(self, amount_minor: int) -> bool:
        """Whether the amount is within the method's limits."""
        return self.minimum_minor <= amount_minor and (self.maximum_minor is None or amount_minor <= self.maximum_minor)


def _read() -> tuple[Method, ...]:
    text = (resources.files("tollhouse.catalogue") / "data" / "methods.toml").read_text("utf-8")
    found: dict[str, Any] = tomllib.loads(text)
    return tuple(msgspec.convert({"method_id": method_id, **facts}, Method) for method_id, facts in found.items())


LIVE_METHODS: tuple[Method, ...] = _read()
SANDBOX_METHODS: tuple[Method, ...] = tuple(
    Method(
        method_id=f"sandbox:{code}",
        name=f"Test payment in {code}",
        type="simulator",
        rail="sandbox",
        confirmation="instant",
    )
    for code in CURRENCIES
)
METHODS: dict[str, Method] = {method.method_id: method for method in (*SANDBOX_METHODS, *LIVE_METHODS)}
