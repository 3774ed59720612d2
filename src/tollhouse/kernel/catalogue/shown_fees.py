"""The fees of a method as pages show them."""

from decimal import Decimal

from msgspec import Struct

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.methods import Fees

BASIS_POINTS_OF_A_PERCENT = 100


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
