"""A measured balance of a rail.

Amounts are in units of 10^-decimals of the currency, exact to the rail's smallest unit.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor, trimmed


class RailBalance(Struct, frozen=True, kw_only=True):
    """One currency of a rail: the places outside, the account `rail:<name>` of the ledger, and what is in flight by cause.

    `tolerance_units`: the operator's own money is booked in minor units, so each of its entries may be less than one off.
    """

    rail: str
    mode: Mode
    currency: str
    measured_at: datetime
    as_of: str
    decimals: int
    places: Mapping[str, int]
    ledger_units: int
    in_flight: Mapping[str, int]
    tolerance_units: int = 0

    @property
    def outside_units(self) -> int:
        """All places together."""
        return sum(self.places.values())

    @property
    def in_flight_units(self) -> int:
        """All that is in flight."""
        return sum(self.in_flight.values())

    @property
    def difference_units(self) -> int:
        """What is outside and nothing explains: above zero if there is too much."""
        return self.outside_units - self.ledger_units - self.in_flight_units

    @property
    def differs(self) -> bool:
        """Whether the difference is more than roundings explain."""
        return abs(self.difference_units) > self.tolerance_units

    def decimal(self, units: int) -> str:
        """An amount with all decimals of the rail."""
        return format_minor(units, self.decimals)

    def format(self, units: int) -> str:
        """An amount as people write it, such as `0.5`."""
        return trimmed(self.decimal(units))


class RailStatus(Struct, frozen=True):
    """The newest measurement of one currency of a rail. `differs_since`: the first of the last ones in a row that differ.

    `failure` is why the rail could not be measured since.
    """

    balance: RailBalance
    differs_since: datetime | None
    failure: str | None
