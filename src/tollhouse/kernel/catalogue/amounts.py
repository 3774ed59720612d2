"""Amounts in requests (decimal strings) and responses (decimal string and minor units)."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import DECIMALS_MAX, Currency
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.money import parse_amount

AMOUNT_SCHEMA = {"type": "string", "description": "Decimal string above zero, at most `decimals` digits after the point."}
AMOUNT_OR_ZERO_SCHEMA = {
    "type": "string",
    "description": "Decimal string, zero or above, at most `decimals` digits after the point.",
}
Amount = Annotated[Any, Meta(extra_json_schema=AMOUNT_SCHEMA)]
"""An amount in a request body. JSON numbers are invalid amounts."""
AmountOrZero = Annotated[Any, Meta(extra_json_schema=AMOUNT_OR_ZERO_SCHEMA)]
"""An amount in a request body that can be zero."""


SCALES = range(DECIMALS_MAX + 1)
"""The possible scales of a currency."""


def minor_of(amount: Any, known: Currency | None, least: int = 1) -> int | None:
    """Minor units, at least `least`; None for an invalid amount. Without a currency the finest scale is used."""
    return parse_amount(amount, known.decimals if known else DECIMALS_MAX, least) if isinstance(amount, str) else None


def amount_error(known: Currency | None, member: str = "amount") -> FieldError:
    """The error of an invalid amount."""
    digits = known.decimals if known else DECIMALS_MAX
    return FieldError(member, "invalid_amount", messages.decimal(digits))


def optional_amount_errors(amount: Any, member: str = "amount") -> Iterator[FieldError]:
    """The error of an optional amount whose currency is not known yet."""
    if amount is not None and not (isinstance(amount, str) and any(parse_amount(amount, scale) for scale in SCALES)):
        yield amount_error(None, member)


def pairs(code: str, catalogue: Catalogue, **minors: int) -> dict[str, Any]:
    """Each amount as two members: `name` and `name_minor`."""
    currency = catalogue.currencies[code]
    return {name: currency.format(minor) for name, minor in minors.items()} | {
        f"{name}_minor": minor for name, minor in minors.items()
    }
