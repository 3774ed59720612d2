"""The checkout of a link: its state, the price that the customer chooses, and the rate that is shown."""

from datetime import datetime
from decimal import Decimal
from typing import Literal, cast
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import CheckoutPrice, PaymentLink
from tollhouse.payments.links.store import CheckoutLink
from tollhouse.payments.receipts.mails import load_receipt
from tollhouse.payments.receipts.model import Receipt
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions import verdict
from tollhouse.payments.transactions.model import CREDITED, Transaction
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions.payments import RATE_VALID_FOR, rate_with_margin

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


State = Literal[
    "open",
    "pending",
    "underpaid",
    "processing",
    "failed",
    "succeeded",
    "completed",
    "refund_required",
    "refunded",
    "chargeback",
    "expired",
    "canceled",
    "paused",
    "rate_expired",
]
DECIDING = frozenset({"processing", "refund_required", "refunded", "chargeback"})
"""Statuses of an attempt that decide the state, whatever the link's status."""

WAITING: frozenset[State] = frozenset({"pending", "underpaid", "processing"})
PAID: frozenset[State] = frozenset({"succeeded", "completed"})
CHOOSING: frozenset[State] = frozenset({"open", "failed"})


class Checkout(Struct, frozen=True):
    """The link, the attempt shown, and the state. `own`: the URL names the attempt."""

    shown: CheckoutLink
    attempt: Transaction | None
    state: State
    settings: PaymentSettings
    own: bool

    @property
    def link(self) -> PaymentLink:
        """The payment link."""
        return self.shown.link

    @property
    def path(self) -> str:
        """The path of the page, with the attempt if the URL names it."""
        name = f"/pay/{self.link.token}"
        return f"{name}?payment={self.attempt.id}" if self.own and self.attempt else name

    @property
    def price(self) -> CheckoutPrice | None:
        """What the attempt shown costs, else what the link suggests; None if the customer has yet to choose."""
        return price_of(self.attempt, self.link)

    @property
    def can_choose_again(self) -> bool:
        """Whether the customer can choose another price: no money for the attempt has been seen."""
        return self.link.is_price_chosen and self.state == "pending"

    @property
    def seen_minor(self) -> int:
        """What was received for the attempt, and what is on its way."""
        return 0 if self.attempt is None else self.attempt.received_minor + self.attempt.detected_minor

    @property
    def due_minor(self) -> int:
        """The amount still to pay; what the link suggests as long as the customer has not chosen one."""
        if self.state in CHOOSING:
            return (self.price or self.link.suggested_price).amount_minor
        if (self.state in WAITING or self.state == "rate_expired") and self.attempt is not None:
            return max(0, self.attempt.amount_minor - self.seen_minor)
        return 0

    @property
    def due_currency(self) -> str:
        """The currency of the amount still to pay: that of the attempt, once a method is chosen."""
        return self.link.currency if self.attempt is None or self.state in CHOOSING else self.attempt.currency

    @property
    def return_url(self) -> str | None:
        """The success URL with its placeholders filled in. It is no proof of payment; the webhook is."""
        address = self.link.success_url or self.settings.success_url
        if address is None or self.attempt is None or self.state not in PAID:
            return None
        return address.replace("{PAYMENT_LINK_ID}", str(self.link.id)).replace("{TRANSACTION_ID}", str(self.attempt.id))


async def load_checkout(db: Pool, token: str, named: UUID | None, now: datetime, *, anew: bool = False) -> Checkout:
    """Load the checkout of this token; `named` is the attempt in the URL. Raises `NotFound`.

    A single-payment link shows its latest attempt to every visitor, so that a second device does not invite to pay again.
    Other links show only the attempt named in the URL. `anew`: the customer chooses another price, if that is possible.
    """
    shown = await link_store.get_by_token(db, token)
    if shown is None:
        raise NotFound
    link = shown.link
    attempt = await _find_attempt(db, link, named)
    own = attempt is not None
    if attempt is None and link.max_payments == 1 and link.latest_transaction_id is not None:
        attempt = await transaction_store.find(db, link.env, link.latest_transaction_id)
    settings = await payment_settings.of(db, link.env)
    found = Checkout(shown, attempt, _state(shown, attempt, settings, now, own=own), settings, own)
    if anew and found.can_choose_again:
        return Checkout(shown, None, _state(shown, None, settings, now, own=False), settings, own=False)
    if found.state in {"expired", "canceled"} and found.seen_minor == 0 and link.max_payments == 1:
        paid = await transaction_store.find_paid_in_part(db, link)
        if paid is not None:
            return Checkout(shown, paid, _state(shown, paid, settings, now, own=own), settings, own)
    return found


async def load_own_receipt(db: Pool, found: Checkout, now: datetime) -> Receipt | None:
    """The receipt of the payment shown; None if it was never credited."""
    attempt = found.attempt
    if attempt is None or attempt.succeeded_at is None:
        return None
    return await load_receipt(db, found.link.env, attempt.id, now)


async def find_simulated_attempt(db: Pool, link: PaymentLink, named: UUID | None) -> Transaction | None:
    """The attempt that the simulator's buttons apply to: the named one, else the latest."""
    which = named or link.latest_transaction_id
    return None if which is None else await _find_attempt(db, link, which)


async def _find_attempt(db: Pool, link: PaymentLink, named: UUID | None) -> Transaction | None:
    found = None if named is None else await transaction_store.find(db, link.env, named)
    return found if found is not None and found.payment_link_id == link.id else None


def _state(
    shown: CheckoutLink, attempt: Transaction | None, settings: PaymentSettings, now: datetime, *, own: bool
) -> State:
    effective_status = shown.link.status_at(now)
    if attempt is not None and attempt.is_open and effective_status == "active":
        return _awaited(attempt, settings, now)
    if attempt is not None and attempt.status in DECIDING:
        return cast("State", attempt.status)
    if attempt is not None and attempt.status in CREDITED and (own or effective_status in {"expired", "canceled"}):
        return "succeeded"
    if effective_status != "active":
        return effective_status
    if shown.suspended:
        return "paused"
    return "failed" if attempt is not None and attempt.status == "failed" else "open"


def _awaited(attempt: Transaction, settings: PaymentSettings, now: datetime) -> State:
    """The state of an open attempt of an active link. Of some methods the amount on its way is not known."""
    if attempt.status == "processing":
        in_time_minor = attempt.received_minor + attempt.detected_in_time_minor
        is_unknown = attempt.detected_in_time_minor == 0
        if is_unknown or in_time_minor >= verdict.sufficient_minor(attempt.amount_minor, settings):
            return "processing"
    if attempt.is_rate_over(now):
        return "rate_expired"
    return "underpaid" if attempt.received_minor + attempt.detected_minor > 0 else "pending"


class ShownRate(Struct, frozen=True):
    """What one unit of the currency that is paid is worth, with the margin, and from when to when that is fixed."""

    text: str
    begun_at: Timestamp
    expires_at: Timestamp


def shown_rate(attempt: Transaction | None, catalogue: Catalogue) -> ShownRate | None:
    """The rate of an attempt; None if it is paid in the currency of its link."""
    if attempt is None or attempt.price is None:
        return None
    price = attempt.price
    text = rate_with_margin(price, attempt.currency, attempt.amount_minor, catalogue)
    begun_at = max(attempt.created_at, price.expires_at - RATE_VALID_FOR)  # the link may end before the rate would
    return ShownRate(text, stamp(begun_at), stamp(price.expires_at))
