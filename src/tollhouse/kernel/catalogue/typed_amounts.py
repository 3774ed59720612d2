"""Amounts that people type: `24.90`, `24,90`, `1.234,56`, `1 234.56`, `€24.90`, `24.90 EUR`. The API reads no such forms."""

import re
from decimal import Decimal

from tollhouse.kernel.catalogue.currencies import DECIMALS_MAX, Currency
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable

BLANKS = re.compile(r"\s+")
GROUPS_DIGITS = 3
BY_BLANKS = re.compile(r"[0-9]{1,3}(?:[ '\N{RIGHT SINGLE QUOTATION MARK}][0-9]{3})+(?:[.,][0-9]+)?")
BY_SIGNS = re.compile(r"[0-9]{1,3}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})*(?P<point>(?!(?P=group))[.,])[0-9]+")
ONLY_GROUPS = re.compile(r"[0-9]{1,3}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})+")
AMBIGUOUS = re.compile(r"(?P<whole>[1-9][0-9]{0,2}),(?P<part>[0-9]{3})")
ONE_SIGN = re.compile(r"(?P<whole>[0-9]+)[.,](?P<part>[0-9]+)")


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
