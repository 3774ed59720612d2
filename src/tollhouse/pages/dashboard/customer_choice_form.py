"""What customers can choose, in the form for a payment link. The form's amount is the price of one, or suggested."""

from collections.abc import Mapping

import msgspec

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.payments.links.customer_choices import CUSTOMER_AMOUNT, QUANTITY, CustomerAmountRequest, QuantityRequest

CHOICE_FIELDS = ("quantity_min", "quantity_max", "amount_min", "amount_max")
LIMIT_FIELDS = ("amount_min", "amount_max")
FORM_FIELDS = {
    QUANTITY: "quantity_max",
    f"{QUANTITY}.min": "quantity_min",
    f"{QUANTITY}.max": "quantity_max",
    CUSTOMER_AMOUNT: "amount_max",
    f"{CUSTOMER_AMOUNT}.min": "amount_min",
    f"{CUSTOMER_AMOUNT}.max": "amount_max",
    f"{CUSTOMER_AMOUNT}.preset": "amount",
}
"""The fields of the form by the members of the API."""
DIGITS_MAX = 6


def typed_quantity(values: Mapping[str, str]) -> QuantityRequest | None:
    """The quantities; None if both fields are empty. Without a minimum it is one."""
    least, most = values["quantity_min"].strip(), values["quantity_max"].strip()
    return QuantityRequest(min=_number(least or "1"), max=_number(most)) if least or most else None


def typed_customer_amount(values: Mapping[str, str], currency: Currency | None) -> CustomerAmountRequest | None:
    """The amounts; None if both fields are empty."""
    least, most, preset = (values[name].strip() for name in (*LIMIT_FIELDS, "amount"))
    if not least and not most:
        return None
    return CustomerAmountRequest(
        min=read_amount(least, currency),
        max=read_amount(most, currency),
        preset=read_amount(preset, currency) if preset else None,
    )


def at_choice_form(error: ApiError) -> ApiError:
    """The error with the fields of the form in place of those of the API."""
    if not any(one.field in FORM_FIELDS for one in error.field_errors):
        return error
    return ValidationFailed(
        *(msgspec.structs.replace(one, field=FORM_FIELDS.get(one.field, one.field)) for one in error.field_errors)
    )


def _number(typed: str) -> int:
    """The number; 0, which is none, for what is not a number."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= DIGITS_MAX else 0
