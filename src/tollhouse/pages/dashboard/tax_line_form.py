"""The tax of the form for a payment link: a name, and a rate from which the amount is computed, or the amount itself."""

import re
from collections.abc import Mapping

import msgspec

from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import read_amount
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.money import parse_amount
from tollhouse.payments.links.tax_lines import FIELD, PARTS_PER_PERCENT, TaxLineRequest, included_tax

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
    if not any(one.field.startswith(FIELD) for one in error.field_errors):
        return error
    return ValidationFailed(*(msgspec.structs.replace(one, field=_form_field(one.field)) for one in error.field_errors))


def _parsed(rate: re.Match[str]) -> int:
    """Thousandths of a percent."""
    return int(rate["whole"]) * PARTS_PER_PERCENT + int((rate["part"] or "").ljust(PART_DIGITS, "0"))


def _share(values: Mapping[str, str], rate: int, currency: Currency | None) -> str:
    """The decimal string of the computed tax; empty if the amount is invalid, which is an error of its own."""
    if currency is None:
        return ""
    amount_minor = parse_amount(read_amount(values["amount"], currency), currency.decimals)
    return "" if amount_minor is None else currency.format(included_tax(amount_minor, rate))


def _form_field(field: str) -> str:
    if not field.startswith(FIELD):
        return field
    return "tax_name" if field.endswith(".name") else "tax_amount"
