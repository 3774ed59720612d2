"""What a payment link sells, line by line, and the taxes in its amount: the requests and their validation."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Struct

from tollhouse.http.bodies import documented
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, AmountOrZero, amount_error, minor_of
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import (
    LINE_ITEM_QUANTITY_MAX,
    LINE_ITEMS_MAX,
    LINK_NAME_CHARS_MAX,
    TAX_LINES_MAX,
    TAX_NAME_CHARS_MAX,
)
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.payments.links.model import LineItem, TaxLine

FIELD = "line_items"
ANOTHER_SUM = "The line items must add up to the amount. Omit the amount, and it is their sum."
NO_SUM = "The line items must add up to an amount above zero that a payment can have."
TAX_LINES = "tax_lines"
TOO_MUCH_TAX = "The taxes must not add up to more than the amount, which includes them."
PARTS_PER_PERCENT = 1_000


class LineItemRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of what is sold: its name, how many, and the price of one in the link's currency, with its taxes."""

    name: Annotated[str, documented(minLength=1, maxLength=LINK_NAME_CHARS_MAX), example("Espresso")]
    """Name of the item."""
    quantity: Annotated[int, documented(minimum=1, maximum=LINE_ITEM_QUANTITY_MAX), example(2)] = 1
    """Number of items."""
    unit_amount: Annotated[AmountOrZero, example("2.10")]


def line_item_errors(
    items: Sequence[LineItemRequest], currency: Currency | None, amount_minor: int | None, *, has_amount: bool
) -> Iterator[FieldError]:
    """Yield every invalid field of the items. `has_amount`: the request has an amount; it is None if that is invalid."""
    if len(items) > LINE_ITEMS_MAX:
        yield FieldError(FIELD, "invalid_value", messages.items(None, LINE_ITEMS_MAX))
        return
    found = [error for place, item in enumerate(items) for error in _item_errors(f"{FIELD}.{place}", item, currency)]
    yield from found
    if not items or found:
        return
    if not has_amount and amount_minor is None:
        yield FieldError(FIELD, "out_of_range", NO_SUM)
    if has_amount and amount_minor is not None and amount_minor != total_minor(items, currency):
        yield FieldError(FIELD, "out_of_range", ANOTHER_SUM)


def total_minor(items: Sequence[LineItemRequest], currency: Currency | None) -> int | None:
    """The sum of the items; None if one is invalid, or if no payment can have this amount."""
    total = 0
    for item in items:
        unit_minor = minor_of(item.unit_amount, currency, 0)
        if unit_minor is None:
            return None
        total += item.quantity * unit_minor
    return total if 0 < total <= MINOR_MAX else None


def to_line_items(items: Sequence[LineItemRequest], currency: Currency) -> tuple[LineItem, ...]:
    """The items of a valid request."""
    return tuple(LineItem(item.name.strip(), item.quantity, minor_of(item.unit_amount, currency, 0) or 0) for item in items)


def _item_errors(field: str, item: LineItemRequest, currency: Currency | None) -> Iterator[FieldError]:
    name = item.name.strip()
    if not 1 <= len(name) <= LINK_NAME_CHARS_MAX or not is_readable(name):
        yield FieldError(f"{field}.name", "invalid_value", messages.plain_text(1, LINK_NAME_CHARS_MAX))
    if not 1 <= item.quantity <= LINE_ITEM_QUANTITY_MAX:
        yield FieldError(f"{field}.quantity", "out_of_range", messages.whole_number(1, LINE_ITEM_QUANTITY_MAX))
    if minor_of(item.unit_amount, currency, 0) is None:
        yield amount_error(currency, f"{field}.unit_amount")


class TaxLineRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tax that is included in the amount: its name, as the receipt shows it, and its amount in the link's currency."""

    name: Annotated[str, documented(minLength=1, maxLength=TAX_NAME_CHARS_MAX), example("VAT 19%")]
    """Name and rate of the tax, such as `VAT 19%`."""
    amount: Annotated[Amount, example("0.67")]


def tax_line_errors(
    lines: Sequence[TaxLineRequest], currency: Currency | None, amount_minor: int | None
) -> Iterator[FieldError]:
    """Yield every invalid field of the lines of a link with this amount; None if that is invalid itself."""
    if len(lines) > TAX_LINES_MAX:
        yield FieldError(TAX_LINES, "invalid_value", messages.items(None, TAX_LINES_MAX))
        return
    minors = [minor_of(line.amount, currency) for line in lines]
    for place, (line, minor) in enumerate(zip(lines, minors, strict=True)):
        name = line.name.strip()
        if not 1 <= len(name) <= TAX_NAME_CHARS_MAX or not is_readable(name):
            yield FieldError(f"{TAX_LINES}.{place}.name", "invalid_value", messages.plain_text(1, TAX_NAME_CHARS_MAX))
        if minor is None:
            yield amount_error(currency, f"{TAX_LINES}.{place}.amount")
    if amount_minor is not None and sum(minor or 0 for minor in minors) > amount_minor:
        yield FieldError(TAX_LINES, "out_of_range", TOO_MUCH_TAX)


def to_tax_lines(lines: Sequence[TaxLineRequest], currency: Currency) -> tuple[TaxLine, ...]:
    """The lines of a valid request."""
    return tuple(TaxLine(line.name.strip(), minor_of(line.amount, currency) or 0) for line in lines)


def included_tax(amount_minor: int, rate: int) -> int:
    """The tax that an amount includes, rounded half up. `rate` is in thousandths of a percent."""
    whole = 100 * PARTS_PER_PERCENT + rate
    return (2 * amount_minor * rate + whole) // (2 * whole)
