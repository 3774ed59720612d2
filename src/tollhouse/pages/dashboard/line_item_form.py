"""The line items of the form for a payment link: a few rows with a name, a quantity and the price of one."""

from collections.abc import Mapping

import msgspec

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.payments.links.line_items import FIELD, LineItemRequest

ROWS = range(1, 6)
"""More line items can be sent to the API."""
PARTS = {"name": "item_name", "quantity": "item_quantity", "unit_amount": "item_price"}
"""The members of a line item and their fields, which the number of the row follows."""
ITEM_FIELDS = tuple(f"{part}_{row}" for row in ROWS for part in PARTS.values())
PRICE_FIELDS = tuple(f"item_price_{row}" for row in ROWS)
DIGITS_MAX = 6


def typed_items(values: Mapping[str, str], currency: Currency | None) -> list[LineItemRequest]:
    """The line items of the rows that are filled in. Without a quantity it is one."""
    return [
        LineItemRequest(
            name=values[f"item_name_{row}"],
            quantity=_quantity(values[f"item_quantity_{row}"].strip()),
            unit_amount=read_amount(values[f"item_price_{row}"], currency),
        )
        for row in _filled(values)
    ]


def at_item_form(error: ApiError, values: Mapping[str, str]) -> ApiError:
    """The error with the fields of the form in place of those of the API."""
    if not any(one.field.startswith(FIELD) for one in error.field_errors):
        return error
    rows = _filled(values)
    return ValidationFailed(
        *(msgspec.structs.replace(one, field=_form_field(one.field, rows)) for one in error.field_errors)
    )


def _filled(values: Mapping[str, str]) -> list[int]:
    return [row for row in ROWS if any(values[f"{part}_{row}"].strip() for part in PARTS.values())]


def _quantity(typed: str) -> int:
    """The number; 0, which is none, for what is not a number."""
    if not typed:
        return 1
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= DIGITS_MAX else 0


def _form_field(field: str, rows: list[int]) -> str:
    """What is wrong with the sum is said at the amount."""
    if not field.startswith(FIELD):
        return field
    _, _, rest = field.partition(".")
    place, _, member = rest.partition(".")
    return f"{PARTS[member]}_{rows[int(place)]}" if member else "amount"
