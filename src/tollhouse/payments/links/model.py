"""The payment link, and the errors of requests about it."""

import base64
import secrets
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import status_at
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.platform.database.records import Array, Columns, Internal, Json, Record
from tollhouse.transfers.orders.store import CLOCK_OFFSET

LinkStatus = Literal["active", "completed", "expired", "canceled"]
"""State of a payment link.

active: Customers can pay.
completed: The last payment that it accepts was made.
expired: Its time is over.
canceled: It was canceled.
"""
UnpayableReason = Literal[
    "not_active",
    "account_suspended",
    "no_method",
    "provider_not_configured",
    "provider_down",
    "disabled_by_operator",
    "disabled_by_merchant",
    "amount_out_of_range",
    "rate_unavailable",
]
"""Why nobody can pay a link now. Those of methods are reasons of the checkout; `no_method`: none takes the currency.

not_active: The link has ended.
account_suspended: The merchant's account is suspended.
no_method: No method takes the currency.
provider_not_configured: The operator has not set up the provider.
provider_down: The provider does not answer.
disabled_by_operator: The operator switched the methods off.
disabled_by_merchant: You switched the methods off in the settings.
amount_out_of_range: The amount is too small or too large.
rate_unavailable: There is no current rate.
"""
NO_OFFSET = timedelta()
QUANTITY_COLUMNS = Columns({"quantity_min": "min", "quantity_max": "max"})
CUSTOMER_AMOUNT_COLUMNS = Columns(
    {"customer_amount_min": "min_minor", "customer_amount_max": "max_minor", "customer_amount_preset": "preset_minor"}
)


class LinkCreator(Struct, frozen=True):
    """The creator of a link: an API key, an application or a dashboard user."""

    type: Literal["api_key", "oauth", "dashboard"]
    """Kind of creator.

    api_key: An API key.
    oauth: An application.
    dashboard: A user of the dashboard.
    """
    oauth_client_id: str | None = None


class TaxLine(Struct, frozen=True):
    """A tax that is included in the amount of a link."""

    name: str
    amount_minor: int


class LineItem(Struct, frozen=True):
    """A line of what a link sells. The price of one includes its taxes and can be zero."""

    name: str
    quantity: int
    unit_amount_minor: int

    @property
    def amount_minor(self) -> int:
        """The price of all of them."""
        return self.quantity * self.unit_amount_minor


class QuantityRange(Struct, frozen=True):
    """How many of what a link sells can be bought with one payment. The customer chooses."""

    min: int
    """Smallest quantity."""
    max: int
    """Largest quantity."""


class CustomerAmount(Struct, frozen=True):
    """The amounts of a link that the customer can choose. `preset_minor` is what the checkout suggests."""

    min_minor: int
    max_minor: int
    preset_minor: int | None


class CheckoutPrice(Struct, frozen=True):
    """What a payment of a link costs, in the currency of the link, and how many it is for if the customer chose that."""

    amount_minor: int
    quantity: int | None = None


class PaymentLink(Struct, frozen=True, kw_only=True):
    """A request to be paid a price, until it is paid `max_payments` times, expires or is canceled.

    `amount_minor` is the price, or the price of one if the customer chooses the quantity. If the customer chooses the
    amount, it is the suggested one, else the least. None of this changes.

    `clock_offset` is the offset of the merchant's test clock. Expiry is compared with the test clock's time.
    """

    id: UUID
    status: Annotated[LinkStatus, example("active")] = "active"
    """Whether customers can pay the link."""
    display_name: Annotated[str, example("Coffee")]
    """Name of what you sell."""
    description: str | None
    """Text below the name on the checkout page."""
    amount_minor: int
    currency: str
    tax_lines: Json[tuple[TaxLine, ...]] = ()
    line_items: Json[tuple[LineItem, ...]] = ()
    quantity: Annotated[QuantityRange | None, QUANTITY_COLUMNS] = None
    """How many customers can buy with one payment; null if they cannot choose."""
    customer_amount: Annotated[CustomerAmount | None, CUSTOMER_AMOUNT_COLUMNS] = None
    project_id: UUID
    webhook_url: str | None
    external_id: str | None
    metadata: Json[dict[str, str]]
    payment_method_ids: Array[tuple[str, ...] | None]
    success_url: str | None
    cancel_url: str | None
    customer_email: str | None
    """Email address of the customer, who gets the receipt."""
    max_payments: Annotated[int | None, example(1)]
    """Number of payments that the link accepts; null is unlimited."""
    payments_count: Annotated[int, example(0)] = 0
    """Number of successful payments."""
    amount_paid_minor: int = 0
    """Sum of the successful payments."""
    latest_transaction_id: UUID | None = None
    """ID of the latest payment; null before the first one."""
    created_by: Annotated[LinkCreator, Columns({"created_by_type": "type", "created_by_client_id": "oauth_client_id"})]
    """Who created the link."""
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    completed_at: datetime | None = None
    canceled_at: datetime | None = None
    version: int = 1
    token: Internal[str]
    clock_offset: Internal[Annotated[timedelta, CLOCK_OFFSET]] = NO_OFFSET

    @property
    def is_price_chosen(self) -> bool:
        """Whether the customer chooses the quantity or the amount."""
        return self.quantity is not None or self.customer_amount is not None

    @property
    def amount_range(self) -> tuple[int, int]:
        """The least and the largest amount of a payment."""
        if self.customer_amount is not None:
            return self.customer_amount.min_minor, self.customer_amount.max_minor
        if self.quantity is not None:
            return self.amount_minor * self.quantity.min, self.amount_minor * self.quantity.max
        return self.amount_minor, self.amount_minor

    @property
    def suggested_price(self) -> CheckoutPrice:
        """The price that was not chosen by a customer: the suggested amount, else the least."""
        return CheckoutPrice(self.amount_minor) if self.quantity is None else self.price_of(self.quantity.min)

    def price_of(self, quantity: int) -> CheckoutPrice:
        """The price of so many."""
        return CheckoutPrice(self.amount_minor * quantity, quantity)

    def allows(self, price: CheckoutPrice) -> bool:
        """Whether a customer can pay this price."""
        if self.quantity is None:
            least, most = self.amount_range
            return price.quantity is None and least <= price.amount_minor <= most
        number = price.quantity
        return number is not None and self.quantity.min <= number <= self.quantity.max and price == self.price_of(number)

    def items_of(self, price: CheckoutPrice) -> tuple[LineItem, ...]:
        """What is sold for this price, if that is more than a name."""
        if price.quantity is None:
            return self.line_items
        return (LineItem(self.display_name, price.quantity, self.amount_minor),)

    def taxes_of(self, price: CheckoutPrice) -> tuple[TaxLine, ...]:
        """The taxes that this price includes."""
        times = price.quantity or 1
        return tuple(TaxLine(line.name, line.amount_minor * times) for line in self.tax_lines)

    def status_at(self, now: datetime) -> LinkStatus:
        """The status at `now`."""
        return status_at(self.status, "active", self.expires_at, now + self.clock_offset)


LINK = Record(PaymentLink, "payment_links")


def new_link_token() -> str:
    """A token for the checkout URL: 128 random bits in 26 characters, independent of the link's id."""
    return base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


class LinkNotActive(ApiError):
    """409: a completed or expired link cannot be canceled."""

    code, status = "invalid_state", 409
    message = "Only an active payment link can be canceled."

    def __init__(self, status: LinkStatus) -> None:
        super().__init__(members={"details": {"status": status}})


class LinkExpired(ApiError):
    """410: the link has expired."""

    code, status = "payment_link_expired", 410
    message = "This payment link has expired."
    solution = "Create a new payment link."


class LinkCanceled(ApiError):
    """410: the merchant canceled the link."""

    code, status = "payment_link_canceled", 410
    message = "This payment link was canceled."
    solution = "Create a new payment link."


class MethodUnavailable(ApiError):
    """422: the payment method cannot be used now."""

    code, status = "method_unavailable", 422
    message = "This payment method is not available here."
    solution = "Choose a method that the list shows as available, or read its `unavailable_reason`."

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}} if reason else None)
