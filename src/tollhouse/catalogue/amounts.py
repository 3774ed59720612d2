"""Amounts as requests send them and answers show them: decimal strings in, a decimal string and minor units out."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from tollhouse.catalogue.currencies import CURRENCIES, DECIMALS_MAX, Currency
from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.money import parse_amount

AMOUNT_SCHEMA = {"type": "string", "description": "Decimal string above zero, at most `decimals` digits after the point."}
Amount = Annotated[Any, Meta(extra_json_schema=AMOUNT_SCHEMA)]
"""A member of a body that is an amount. A number here is an invalid amount, like any other."""


SCALES = range(DECIMALS_MAX + 1)
"""Any of them may be that of a currency: what is too much in one is an amount in another."""


def minor_of(amount: Any, known: Currency | None) -> int | None:
    """Minor units; None where it is no amount. Without a currency the finest scale counts, to tell all faults at once."""
    return parse_amount(amount, known.decimals if known else DECIMALS_MAX) if isinstance(amount, str) else None


def amount_fault(known: Currency | None, member: str = "amount") -> FieldError:
    """What is wrong with an amount that cannot be read."""
    digits = known.decimals if known else DECIMALS_MAX
    return FieldError(member, "invalid_amount", messages.decimal(digits))


def optional_amount_faults(amount: Any) -> Iterator[FieldError]:
    """What is wrong with an amount whose currency is not known yet, and that may be left out."""
    if amount is not None and not (isinstance(amount, str) and any(parse_amount(amount, scale) for scale in SCALES)):
        yield amount_fault(None)


def pairs(code: str, **minors: int) -> dict[str, Any]:
    """Each amount as the two members that every answer carries: `name` and `name_minor`."""
    currency = CURRENCIES[code]
    return {name: currency.format(minor) for name, minor in minors.items()} | {
        f"{name}_minor": minor for name, minor in minors.items()
    }
