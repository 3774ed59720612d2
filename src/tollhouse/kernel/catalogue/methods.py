"""Payment methods, those of live mode from a data file, and a sandbox method for each currency; and their fees for pages."""

import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib import resources
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.catalogue.currencies import Currency, Words
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import MINOR_MAX, percentage
from tollhouse.kernel.text import Text, Translatable

MethodType = Literal["card", "bank_transfer", "crypto", "simulator"]
"""Kind of payment method.

card: A card.
bank_transfer: A bank transfer.
crypto: A transfer on a network.
simulator: The simulator of the test environment.
"""
UnavailableReason = Literal[
    "provider_not_configured",
    "provider_down",
    "disabled_by_merchant",
    "disabled_by_operator",
    "not_in_environment",
    "currency_not_supported",
    "amount_out_of_range",
    "project_not_allowed",
    "rate_unavailable",
]
"""Why a payment method is not available.

not_in_environment: It does not exist in this environment.
disabled_by_operator: The operator switched it off.
disabled_by_merchant: You switched it off in the settings.
currency_not_supported: It does not take this currency.
amount_out_of_range: The amount is too small or too large.
provider_not_configured: The operator has not set up the provider.
provider_down: The provider does not answer.
project_not_allowed: The project must not use it.
rate_unavailable: There is no current rate.
"""


Minor = Annotated[int, Meta(ge=0, le=MINOR_MAX)]

BASIS_POINTS_OF_A_PERCENT = 100


class Fees(Struct, frozen=True, forbid_unknown_fields=True):
    """The platform's fee: a fixed part and a share, within bounds. Zero by default.

    `chargeback_minor` is charged for each dispute, whatever its outcome.
    """

    fixed_minor: Annotated[Minor, example(0)] = 0
    """Fixed part of the fee, in minor units."""
    basis_points: Annotated[int, Meta(ge=0, le=10_000), example(0)] = 0
    """Share of the amount, in hundredths of a percent."""
    minimum_minor: Minor = 0
    """Smallest fee, in minor units."""
    maximum_minor: Minor | None = None
    """Largest fee, in minor units; null is unlimited."""
    chargeback_minor: Annotated[Minor, example(0)] = 0
    """Fee for a chargeback, in minor units."""

    def of(self, amount_minor: int) -> int:
        """The fee in minor units; at most the amount."""
        fee = max(self.fixed_minor + percentage(amount_minor, self.basis_points), self.minimum_minor)
        if self.maximum_minor is not None:
            fee = min(fee, self.maximum_minor)
        return min(fee, amount_minor)


class Method(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A payment method. `push`: the customer sends the money; it is not collected.

    `minimum_refund_minor` is the least of a refund that leaves a rest; on networks it is at least five times their fee.
    `rate_margin_basis_points` is the platform's share of money that is converted to the currency of the price.
    """

    method_id: str
    name: Words
    type: MethodType
    rail: Annotated[str, Meta(pattern="^[a-z0-9_]{1,32}$")]
    enabled: bool = True
    minimum_minor: Annotated[int, Meta(ge=1, le=MINOR_MAX)] = 1
    maximum_minor: Annotated[int, Meta(ge=1, le=MINOR_MAX)] | None = None
    minimum_refund_minor: Annotated[int, Meta(ge=1, le=MINOR_MAX)] = 1
    fees: Fees = Fees()
    rate_margin_basis_points: Annotated[int, Meta(ge=0, le=5_000)] = 0
    push: bool = True
    refundable: bool = True
    confirmation: Literal["instant", "minutes", "days"]

    @property
    def mode(self) -> Mode:
        """The environment in which customers can pay by it."""
        return "test" if self.rail == "sandbox" else "live"

    @property
    def label(self) -> Translatable:
        """The name, for pages."""
        return sandbox_name(self.asset) if self.mode == "test" else self.name

    @property
    def network(self) -> str:
        """The network: the part of the id before the colon."""
        return self.method_id.partition(":")[0]

    @property
    def asset(self) -> str:
        """The currency: the part of the id after the colon."""
        return self.method_id.partition(":")[2]

    def takes(self, amount_minor: int) -> bool:
        """Whether the amount is within the method's limits."""
        return self.takes_any(amount_minor, amount_minor)

    def takes_any(self, least_minor: int, most_minor: int) -> bool:
        """Whether one of these amounts is within the method's limits."""
        return self.minimum_minor <= most_minor and (self.maximum_minor is None or least_minor <= self.maximum_minor)


def sandbox_name(code: str) -> Text:
    """The name of the sandbox method of a currency."""
    return Text("Test payment in %(currency)s", currency=code)


def sandbox_methods(codes: Iterable[str]) -> dict[str, Method]:
    """The sandbox methods of these currencies."""
    return {
        f"sandbox:{code}": Method(
            method_id=f"sandbox:{code}",
            name=str(sandbox_name(code)),
            type="simulator",
            rail="sandbox",
            confirmation="instant",
        )
        for code in codes
    }


def _read() -> dict[str, Method]:
    text = (resources.files("tollhouse.kernel.catalogue") / "data" / "methods.toml").read_text("utf-8")
    found: dict[str, Any] = tomllib.loads(text)
    return {method_id: msgspec.convert({"method_id": method_id, **facts}, Method) for method_id, facts in found.items()}


BUILT_IN: Mapping[str, Method] = _read()


class ShownFees(Struct, frozen=True):
    """Decimal strings of the share in percent and of the amounts; empty where there is none."""

    percent: str
    fixed: str
    minimum: str
    maximum: str

    @property
    def is_free(self) -> bool:
        """Whether there is no fee."""
        return not (self.percent or self.fixed or self.minimum)


def fees_of(fees: Fees, currency: Currency) -> ShownFees:
    """The fees in this currency."""
    percent = Decimal(fees.basis_points) / BASIS_POINTS_OF_A_PERCENT
    return ShownFees(
        f"{percent:f}" if fees.basis_points else "",
        currency.format(fees.fixed_minor) if fees.fixed_minor else "",
        currency.format(fees.minimum_minor) if fees.minimum_minor else "",
        "" if fees.maximum_minor is None else currency.format(fees.maximum_minor),
    )
