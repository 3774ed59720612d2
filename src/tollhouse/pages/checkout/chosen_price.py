"""What the customer chooses at checkout: the quantity or the amount, in the address of the page and in the form."""

from decimal import Decimal

from msgspec import Struct

from tollhouse.http.forms import NO_ERRORS, Form, FormErrors
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.payments.links.model import CheckoutPrice, PaymentLink
from tollhouse.payments.transactions.model import Transaction

QUANTITY, AMOUNT = "quantity", "amount"
DIGITS_MAX = 6
STATUS = 422


class ChosenPrice(Struct, frozen=True):
    """The price that is chosen; None as long as there is none. `typed` and `errors` are those of the field."""

    price: CheckoutPrice | None
    typed: str = ""
    errors: FormErrors = NO_ERRORS


def read_choice(link: PaymentLink, form: Form, currency: Currency, *, before: CheckoutPrice | None) -> ChosenPrice:
    """The choice in a form or address. One without the field leaves it as it was `before`. Fixed prices have no field."""
    field = field_of(link)
    if field is None:
        return ChosenPrice(CheckoutPrice(link.amount_minor))
    typed = form.one(field)
    if typed is None:
        return ChosenPrice(before, typed_of(before, currency))
    return _read_quantity(link, typed) if field == QUANTITY else _read_amount(link, typed, currency)


def require_choice(link: PaymentLink, form: Form, currency: Currency) -> ChosenPrice:
    """The choice in the form that starts a payment, which must have it."""
    choice = read_choice(link, form, currency, before=None)
    return choice if choice.price or choice.errors.field_errors else _wrong(link, "", messages.REQUIRED)


def field_of(link: PaymentLink) -> str | None:
    """The name of the field; None if the price is fixed."""
    return QUANTITY if link.quantity is not None else AMOUNT if link.customer_amount is not None else None


def typed_of(price: CheckoutPrice | None, currency: Currency) -> str:
    """The value of the field for a price."""
    if price is None:
        return ""
    return currency.format(price.amount_minor) if price.quantity is None else str(price.quantity)


def price_of(attempt: Transaction | None, link: PaymentLink) -> CheckoutPrice | None:
    """What an attempt costs; without one what the link suggests, if it does."""
    if not link.is_price_chosen:
        return CheckoutPrice(link.amount_minor)
    if attempt is not None and attempt.price is not None:
        return CheckoutPrice(attempt.price.amount_minor, attempt.quantity)
    if attempt is not None and attempt.currency == link.currency:
        return CheckoutPrice(attempt.amount_minor, attempt.quantity)
    is_suggested = link.customer_amount is None or link.customer_amount.preset_minor is not None
    return link.suggested_price if is_suggested else None


def _read_quantity(link: PaymentLink, typed: str) -> ChosenPrice:
    text, bounds = typed.strip(), link.quantity
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else 0
    if bounds is None or not bounds.min <= number <= bounds.max:
        least, most = (bounds.min, bounds.max) if bounds else (None, None)
        return _wrong(link, typed, messages.whole_number(least, most))
    return ChosenPrice(link.price_of(number), str(number))


def _read_amount(link: PaymentLink, typed: str, currency: Currency) -> ChosenPrice:
    minor = parse_amount(read_amount(typed, currency), currency.decimals)
    if minor is None:
        return _wrong(link, typed, amount_texts(currency, amount=typed)[AMOUNT, "invalid_amount"])
    price = CheckoutPrice(minor)
    if not link.allows(price):
        least, most = (Decimal(currency.format(bound)) for bound in link.amount_range)
        return _wrong(link, typed, Text("Enter an amount from %(least)s to %(most)s.", least=least, most=most))
    return ChosenPrice(price, typed_of(price, currency))


def _wrong(link: PaymentLink, typed: str, message: Translatable) -> ChosenPrice:
    return ChosenPrice(None, typed, FormErrors(message, {field_of(link) or "": message}, STATUS))
