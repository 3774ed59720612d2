"""The amount filter of a list, as people type it: exactly, at least, at most."""

from collections.abc import Mapping

from msgspec import Struct

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import both_readings, read_amount
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.money import MINOR_MAX, parse_amount

FIELDS = ("amount", "amount_from", "amount_to")
AN_AMOUNT = "Enter an amount, for example 24.90."
ORDER = "This must not be less than the lower amount."


class AmountBounds(Struct, frozen=True):
    """Currencies, and of each the smallest and the largest amount in minor units. None: any amount.

    The order is that of the statements' parameters.
    """

    currencies: list[str] | None = None
    least: list[int] | None = None
    most: list[int] | None = None


ANY_AMOUNT = AmountBounds()


class AmountFilter:
    """For the query of a list, which has these parameters: an exact amount or the ends of a range, and a currency.

    Empty: not set.
    """

    __slots__ = ()
    amount: str
    amount_from: str
    amount_to: str
    currency: str

    @property
    def typed_amounts(self) -> dict[str, str]:
        """The amounts that are set, by the names of `FIELDS`."""
        return {name: text for name in FIELDS if (text := getattr(self, name).strip())}

    def amounts(self, currencies: Mapping[str, Currency]) -> AmountBounds:
        """The bounds in the selected currency; without one, in every currency that the texts can be amounts of.

        Raises `ValidationFailed` at the fields of `FIELDS`.
        """
        typed = self.typed_amounts
        if not typed:
            return ANY_AMOUNT
        considered = [one for one in currencies.values() if self.currency in {"", one.code}]
        if errors := [error for name, text in typed.items() if (error := _error(name, text, considered))]:
            raise ValidationFailed(*errors)
        found = [(one.code, *ends) for one in considered if (ends := _ends(typed, one)) is not None]
        if any(least > most for _, least, most in found):
            raise ValidationFailed(FieldError("amount_to", "invalid_value", ORDER))
        return AmountBounds([code for code, _, _ in found], [least for _, least, _ in found], [most for _, _, most in found])


def _ends(typed: Mapping[str, str], currency: Currency) -> tuple[int, int] | None:
    """The smallest and the largest amount; None if one of the texts is no amount of the currency."""
    minors = {name: parse_amount(read_amount(text, currency), currency.decimals) for name, text in typed.items()}
    if None in minors.values():
        return None
    exactly = minors.get("amount")
    least, most = minors.get("amount_from") or 0, minors.get("amount_to") or MINOR_MAX
    return (least, most) if exactly is None else (exactly, exactly)


def _error(name: str, text: str, currencies: list[Currency]) -> FieldError | None:
    """The error of a text that is ambiguous, or an amount of none of the currencies. An unknown currency matches nothing."""
    for currency in currencies:
        if (readings := both_readings(text, currency)) is not None:
            return FieldError(name, "invalid_amount", readings)
    if currencies and all(parse_amount(read_amount(text, one), one.decimals) is None for one in currencies):
        return FieldError(name, "invalid_amount", AN_AMOUNT)
    return None
