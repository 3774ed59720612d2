"""Parts of the form for a payment link: choices of customers, line items, tax; and why a link cannot be paid."""

import re
from collections.abc import Mapping
from typing import LiteralString

import msgspec

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text
from tollhouse.payments.links.customer_choices import CUSTOMER_AMOUNT, QUANTITY, CustomerAmountRequest, QuantityRequest
from tollhouse.payments.links.line_items import FIELD as ITEM_FIELD
from tollhouse.payments.links.line_items import PARTS_PER_PERCENT, LineItemRequest, TaxLineRequest, included_tax
from tollhouse.payments.links.line_items import TAX_LINES as TAX_FIELD
from tollhouse.payments.links.model import UnpayableReason

SENTENCES: dict[UnpayableReason, LiteralString] = {
    "account_suspended": "Customers cannot pay it: the account is suspended.",
    "no_method": "Customers cannot pay it: no payment method takes %(currency)s.",
    "provider_not_configured": "Customers cannot pay it: no payment method for %(currency)s is set up on this server.",
    "provider_down": "Customers cannot pay it now: its payment methods are temporarily unavailable.",
    "disabled_by_operator": "Customers cannot pay it: the operator has turned its payment methods off.",
    "disabled_by_merchant": "Customers cannot pay it: its payment methods are turned off in your payment settings.",
    "amount_out_of_range": "Customers cannot pay it: none of its payment methods takes this amount.",
    "rate_unavailable": "Customers cannot pay it now: there is no current exchange rate for its payment methods.",
}


def warning_of(reason: UnpayableReason | None, currency: str) -> Text | None:
    """The warning for pages; None for links that customers can pay, and for those that have ended."""
    sentence = SENTENCES.get(reason) if reason else None
    return None if sentence is None else Text(sentence, currency=currency)


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
    if not any(field_error.field in FORM_FIELDS for field_error in error.field_errors):
        return error
    return ValidationFailed(
        *(
            msgspec.structs.replace(field_error, field=FORM_FIELDS.get(field_error.field, field_error.field))
            for field_error in error.field_errors
        )
    )


def _number(typed: str) -> int:
    """The number; 0, which is none, for what is not a number."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= DIGITS_MAX else 0


ROWS = range(1, 6)
"""More line items can be sent to the API."""
PARTS = {"name": "item_name", "quantity": "item_quantity", "unit_amount": "item_price"}
"""The members of a line item and their fields, which the number of the row follows."""
ITEM_FIELDS = tuple(f"{part}_{row}" for row in ROWS for part in PARTS.values())
PRICE_FIELDS = tuple(f"item_price_{row}" for row in ROWS)
QUANTITY_DIGITS_MAX = 6


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
    if not any(field_error.field.startswith(ITEM_FIELD) for field_error in error.field_errors):
        return error
    rows = _filled(values)
    return ValidationFailed(
        *(
            msgspec.structs.replace(field_error, field=_item_field(field_error.field, rows))
            for field_error in error.field_errors
        )
    )


def _filled(values: Mapping[str, str]) -> list[int]:
    return [row for row in ROWS if any(values[f"{part}_{row}"].strip() for part in PARTS.values())]


def _quantity(typed: str) -> int:
    """The number; 0, which is none, for what is not a number."""
    if not typed:
        return 1
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= QUANTITY_DIGITS_MAX else 0


def _item_field(field: str, rows: list[int]) -> str:
    """What is wrong with the sum is said at the amount."""
    if not field.startswith(ITEM_FIELD):
        return field
    _, _, rest = field.partition(".")
    place, _, member = rest.partition(".")
    return f"{PARTS[member]}_{rows[int(place)]}" if member else "amount"


TAX_FIELDS = ("tax_name", "tax_rate", "tax_amount")
RATE = re.compile(r"(?P<whole>[0-9]{1,2})(?:[.,](?P<part>[0-9]{1,3}))? ?%?")
A_RATE = "This must be a percentage above 0 and below 100, such as 19 or 5.5."
PART_DIGITS = 3


def typed_tax(values: Mapping[str, str], currency: Currency | None) -> list[TaxLineRequest]:
    """The tax line of the form; none if its fields are empty, or its rate is invalid: see `rate_errors`.

    The typed amount counts before the rate.
    """
    name, rate, amount = (values[field].strip() for field in TAX_FIELDS)
    if not (name or rate or amount):
        return []
    if not rate:
        return [TaxLineRequest(name=name, amount=read_amount(amount, currency))]
    parts = RATE.fullmatch(rate)
    if parts is None or not (parsed := _parsed(parts)):
        return []
    named = f"{name} {rate.removesuffix('%').strip()}%" if name else ""
    return [TaxLineRequest(name=named, amount=read_amount(amount, currency) if amount else _share(values, parsed, currency))]


def rate_errors(values: Mapping[str, str]) -> list[FieldError]:
    """The error of a rate that is none. The API has no rates."""
    rate = values["tax_rate"].strip()
    parts = RATE.fullmatch(rate)
    is_wrong = rate and (parts is None or not _parsed(parts))
    return [FieldError("tax_rate", "invalid_value", A_RATE)] if is_wrong else []


def at_form(error: ApiError) -> ApiError:
    """The error with the fields of the form in place of those of the API."""
    if not any(field_error.field.startswith(TAX_FIELD) for field_error in error.field_errors):
        return error
    return ValidationFailed(
        *(msgspec.structs.replace(field_error, field=_tax_field(field_error.field)) for field_error in error.field_errors)
    )


def _parsed(rate: re.Match[str]) -> int:
    """Thousandths of a percent."""
    return int(rate["whole"]) * PARTS_PER_PERCENT + int((rate["part"] or "").ljust(PART_DIGITS, "0"))


def _share(values: Mapping[str, str], rate: int, currency: Currency | None) -> str:
    """The decimal string of the computed tax; empty if the amount is invalid, which is an error of its own."""
    if currency is None:
        return ""
    amount_minor = parse_amount(read_amount(values["amount"], currency), currency.decimals)
    return "" if amount_minor is None else currency.format(included_tax(amount_minor, rate))


def _tax_field(field: str) -> str:
    if not field.startswith(TAX_FIELD):
        return field
    return "tax_name" if field.endswith(".name") else "tax_amount"
