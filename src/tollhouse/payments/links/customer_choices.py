"""What customers can choose: the quantity or the amount of a payment link. The requests and their validation."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct

from tollhouse.http.bodies import documented
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import LINK_QUANTITY_MAX
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.payments.links.model import CustomerAmount, QuantityRange

QUANTITY = "quantity"
CUSTOMER_AMOUNT = "customer_amount"
TOO_MUCH = "This must not be so many that their price is above the largest amount of a payment."
NOT_BELOW_MIN = "This must not be below the minimum."
WITHIN_RANGE = "This must be from the minimum to the maximum."
NOT_WITH_ITEMS = "This cannot be sent together with line_items. Send one of them."
NOT_WITH_AMOUNT = "This cannot be sent together with amount. Send the suggested amount as its preset."
ONLY_FIXED = "This cannot be sent together with customer_amount: it needs a fixed amount."


class QuantityRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many customers can buy with one payment. The link's amount is the price of one."""

    min: Annotated[int, documented(minimum=1, maximum=LINK_QUANTITY_MAX), example(1)] = 1
    """Smallest quantity."""
    max: Annotated[int, documented(minimum=1, maximum=LINK_QUANTITY_MAX), example(10)]
    """Largest quantity."""


class CustomerAmountRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The amounts that customers can choose, and the one that the checkout suggests, if any."""

    min: Annotated[Amount, example("1.00")]
    max: Annotated[Amount, example("500.00")]
    preset: Annotated[Amount, example("10.00")] = None


def quantity_errors(new: QuantityRequest | None, amount_minor: int | None, *, has_items: bool) -> Iterator[FieldError]:
    """Yield every invalid field. `amount_minor` is the price of one; None if it is invalid itself."""
    if new is None:
        return
    if has_items:
        yield FieldError(QUANTITY, "invalid_value", NOT_WITH_ITEMS)
    for name, number in (("min", new.min), ("max", new.max)):
        if not 1 <= number <= LINK_QUANTITY_MAX:
            yield FieldError(f"{QUANTITY}.{name}", "out_of_range", messages.whole_number(1, LINK_QUANTITY_MAX))
    if 1 <= new.max < new.min <= LINK_QUANTITY_MAX:
        yield FieldError(f"{QUANTITY}.max", "out_of_range", NOT_BELOW_MIN)
    if amount_minor is not None and new.max <= LINK_QUANTITY_MAX and amount_minor * new.max > MINOR_MAX:
        yield FieldError(f"{QUANTITY}.max", "out_of_range", TOO_MUCH)


def customer_amount_errors(
    new: CustomerAmountRequest | None, currency: Currency | None, *, has_amount: bool, fixed: dict[str, bool]
) -> Iterator[FieldError]:
    """Yield every invalid field. `fixed`: the members that need a fixed amount, and whether the request has them."""
    if new is None:
        return
    if has_amount:
        yield FieldError(CUSTOMER_AMOUNT, "invalid_value", NOT_WITH_AMOUNT)
    for name, is_sent in fixed.items():
        if is_sent:
            yield FieldError(name, "invalid_value", ONLY_FIXED)
    sent = {"min": new.min, "max": new.max} | ({} if new.preset is None else {"preset": new.preset})
    minors = {name: minor_of(amount, currency) for name, amount in sent.items()}
    yield from (amount_error(currency, f"{CUSTOMER_AMOUNT}.{name}") for name, minor in minors.items() if minor is None)
    yield from _range_errors(minors["min"], minors["max"], minors.get("preset"))


def suggested_minor(new: CustomerAmountRequest, currency: Currency | None) -> int | None:
    """The amount of a link with this choice: the suggested one, else the least. None if it is invalid."""
    return minor_of(new.min if new.preset is None else new.preset, currency)


def to_quantity(new: QuantityRequest | None) -> QuantityRange | None:
    """The range of a valid request."""
    return None if new is None else QuantityRange(new.min, new.max)


def to_customer_amount(new: CustomerAmountRequest | None, currency: Currency) -> CustomerAmount | None:
    """The range of a valid request."""
    if new is None:
        return None
    return CustomerAmount(minor_of(new.min, currency) or 0, minor_of(new.max, currency) or 0, minor_of(new.preset, currency))


def _range_errors(least: int | None, most: int | None, preset: int | None) -> Iterator[FieldError]:
    if least is None or most is None:
        return
    if most < least:
        yield FieldError(f"{CUSTOMER_AMOUNT}.max", "out_of_range", NOT_BELOW_MIN)
    elif preset is not None and not least <= preset <= most:
        yield FieldError(f"{CUSTOMER_AMOUNT}.preset", "out_of_range", WITHIN_RANGE)
