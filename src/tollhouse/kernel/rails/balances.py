"""What a rail has outside of the ledger, at a node, a provider or a bank."""

from collections.abc import Mapping

from msgspec import Struct


class OutsideBalance(Struct, frozen=True, kw_only=True):
    """One currency of a rail at one moment, in units of 10^-decimals of the currency.

    `places`: where the money is. `in_flight`: what the ledger does not have yet (above zero) or has no longer (below zero),
    by its cause. Without mistakes, all places together are the balance of the ledger and all that is in flight.
    """

    currency: str
    decimals: int
    places: Mapping[str, int]
    in_flight: Mapping[str, int]


class OutsideBalances(Struct, frozen=True):
    """The balances of a rail. `as_of` says to what they refer, such as `block 123`."""

    as_of: str
    currencies: tuple[OutsideBalance, ...]


class CannotMeasureError(Exception):
    """The rail cannot be measured now. The text says why, for operators."""
