"""Amounts that people type: `24.90`, `24,90`, `1.234,56`, `1 234.56`, `€24.90`, `24.90 EUR`; and the amount filter of lists.

The API reads no such forms.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from tollhouse.kernel.catalogue.currencies import DECIMALS_MAX, Currency
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.money import MINOR_MAX, parse_amount
from tollhouse.kernel.text import Text, Translatable

BLANKS = re.compile(r"\s+")
GROUPS_DIGITS = 3
BY_BLANKS = re.compile(r"[0-9]{1,3}(?:[ '\N{RIGHT SINGLE QUOTATION MARK}][0-9]{3})+(?:[.,][0-9]+)?")
BY_SIGNS = re.compile(r"[0-9]{1,3}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})*(?P<point>(?!(?P=group))[.,])[0-9]+")
ONLY_GROUPS = re.compile(r"[0-9]{1,3}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})+")
AMBIGUOUS = re.compile(r"(?P<whole>[1-9][0-9]{0,2}),(?P<part>[0-9]{3})")
ONE_SIGN = re.compile(r"(?P<whole>[0-9]+)[.,](?P<part>[0-9]+)")

FIELDS = ("amount", "amount_from", "amount_to")
AN_AMOUNT = "Enter an amount, for example 24.90."
ORDER = "This must not be less than the lower amount."


def read_amount(text: str, currency: Currency | None) -> str:
    """The decimal string of an amount that somebody typed. Any other or ambiguous text is none, so validation rejects it.

    Three digits after the only sign, as in `1,234`, can be thousands or decimals. They are decimals in a currency of three
    decimals, thousands in one without decimals, and else ambiguous.
    """
    typed = _without_currency(text, currency)
    if BY_BLANKS.fullmatch(typed):
        return re.sub(r"[^0-9.]", "", typed.replace(",", "."))
    if match := BY_SIGNS.fullmatch(typed):
        return typed.replace(match["group"], "").replace(",", ".")
    if match := ONLY_GROUPS.fullmatch(typed):
        return typed.replace(match["group"], "")
    if match := ONE_SIGN.fullmatch(typed):
        whole, part = match["whole"], match["part"]
        if AMBIGUOUS.fullmatch(f"{whole},{part}") is None:
            return f"{whole}.{part}"
        sign = "," if currency is None else {GROUPS_DIGITS: ".", 0: ""}.get(currency.decimals, ",")
        return f"{whole}{sign}{part}"
    return typed if typed.isdigit() and typed.isascii() else text


def amount_texts(currency: Currency | None, **typed: str) -> dict[tuple[str, str], Translatable]:
    """Why these fields hold no amount, for people, by field and code. An ambiguous amount is named with both readings."""
    found: dict[tuple[str, str], Translatable] = {}
    decimals = DECIMALS_MAX if currency is None else currency.decimals
    for field, text in typed.items():
        readings = both_readings(text, currency)
        if readings is not None:
            found[field, "invalid_amount"] = readings
        elif parse_amount(read_amount(text, currency), decimals) is None:
            found[field, "invalid_amount"] = _an_amount(decimals)
    return found


def both_readings(text: str, currency: Currency | None) -> Text | None:
    """The question which of two amounts is meant; None if the text has one meaning or none."""
    match = AMBIGUOUS.fullmatch(read_amount(text, currency))
    if match is None:
        return None
    whole, part, decimals = match["whole"], match["part"], 0 if currency is None else currency.decimals
    return Text(
        "This can mean %(large)s or %(small)s. Enter the amount without a thousands separator.",
        large=Decimal(f"{whole}{part}.{'0' * (decimals or 2)}"),
        small=Decimal(f"{whole}.{part.ljust(decimals, '0')}"),
    )


def _an_amount(decimals: int) -> Translatable:
    if decimals == 0:
        return Text("Enter an amount above zero without decimals, for example %(example)s.", example=Decimal(1050))
    return Text(
        "Enter an amount above zero with at most %(digits)s decimals, for example %(example)s.",
        digits=decimals,
        example=Decimal("10.50"),
    )


def _without_currency(text: str, currency: Currency | None) -> str:
    typed = BLANKS.sub(" ", text).strip()
    for sign in () if currency is None else (currency.code, currency.symbol):
        if typed.upper().startswith(sign):
            return typed[len(sign) :].lstrip()
        if typed.upper().endswith(sign):
            return typed[: -len(sign)].rstrip()
    return typed


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
        considered = [currency for currency in currencies.values() if self.currency in {"", currency.code}]
        if errors := [error for name, text in typed.items() if (error := _error(name, text, considered))]:
            raise ValidationFailed(*errors)
        found = [(currency.code, *ends) for currency in considered if (ends := _ends(typed, currency)) is not None]
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
    if currencies and all(parse_amount(read_amount(text, currency), currency.decimals) is None for currency in currencies):
        return FieldError(name, "invalid_amount", AN_AMOUNT)
    return None
