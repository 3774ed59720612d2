"""The taxes that are included in the amount of a payment link: the request and its validation."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Struct

from tollhouse.http.bodies import documented
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import TAX_LINES_MAX, TAX_NAME_CHARS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.payments.links.model import TaxLine

FIELD = "tax_lines"
TOO_MUCH_TAX = "The taxes must not add up to more than the amount, which includes them."
PARTS_PER_PERCENT = 1_000


class TaxLineRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tax that is included in the amount: its name, as the receipt shows it, and its amount in the link's currency."""

    name: Annotated[str, documented(minLength=1, maxLength=TAX_NAME_CHARS_MAX), example("VAT 19%")]
    amount: Annotated[Amount, example("0.67")]


def tax_line_errors(
    lines: Sequence[TaxLineRequest], currency: Currency | None, amount_minor: int | None
) -> Iterator[FieldError]:
    """Yield every invalid field of the lines of a link with this amount; None if that is invalid itself."""
    if len(lines) > TAX_LINES_MAX:
        yield FieldError(FIELD, "invalid_value", messages.items(None, TAX_LINES_MAX))
        return
    minors = [minor_of(line.amount, currency) for line in lines]
    for place, (line, minor) in enumerate(zip(lines, minors, strict=True)):
        name = line.name.strip()
        if not 1 <= len(name) <= TAX_NAME_CHARS_MAX or not is_readable(name):
            yield FieldError(f"{FIELD}.{place}.name", "invalid_value", messages.plain_text(1, TAX_NAME_CHARS_MAX))
        if minor is None:
            yield amount_error(currency, f"{FIELD}.{place}.amount")
    if amount_minor is not None and sum(minor or 0 for minor in minors) > amount_minor:
        yield FieldError(FIELD, "out_of_range", TOO_MUCH_TAX)


def to_tax_lines(lines: Sequence[TaxLineRequest], currency: Currency) -> tuple[TaxLine, ...]:
    """The lines of a valid request."""
    return tuple(TaxLine(line.name.strip(), minor_of(line.amount, currency) or 0) for line in lines)


def included_tax(amount_minor: int, rate: int) -> int:
    """The tax that an amount includes, rounded half up. `rate` is in thousandths of a percent."""
    whole = 100 * PARTS_PER_PERCENT + rate
    return (2 * amount_minor * rate + whole) // (2 * whole)
