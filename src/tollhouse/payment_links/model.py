"""The payment link."""

import base64
import secrets
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.orders.store import CLOCK_OFFSET
from tollhouse.platform.records import Array, Columns, Internal, Json, Record

LinkStatus = Literal["active", "completed", "expired", "canceled"]
NO_OFFSET = timedelta()


class LinkCreator(Struct, frozen=True):
    """The creator of a link: an API key, an application or a dashboard user."""

    type: Literal["api_key", "oauth", "dashboard"]
    oauth_client_id: str | None = None


def effective_status(status: LinkStatus, expires_at: datetime, now: datetime) -> LinkStatus:
    """The status of a link at `now`: an active link is expired from `expires_at` on, even if no job has recorded it yet."""
    return "expired" if status == "active" and now >= expires_at else status


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


class PaymentLink(Struct, frozen=True, kw_only=True):
    """A request to be paid a fixed price, until it is paid `max_payments` times, expires or is canceled.

    `clock_offset` is the offset of the merchant's test clock. Expiry is compared with the test clock's time.
    """

    id: UUID
    status: Annotated[LinkStatus, example("active")] = "active"
    display_name: Annotated[str, example("Coffee")]
    description: str | None
    amount_minor: int
    currency: str
    tax_lines: Json[tuple[TaxLine, ...]] = ()
    line_items: Json[tuple[LineItem, ...]] = ()
    project_id: UUID
    webhook_url: str | None
    external_id: str | None
    metadata: Json[dict[str, str]]
    payment_method_ids: Array[tuple[str, ...] | None]
    success_url: str | None
    cancel_url: str | None
    customer_email: str | None
    max_payments: Annotated[int | None, example(1)]
    payments_count: Annotated[int, example(0)] = 0
    amount_paid_minor: int = 0
    latest_transaction_id: UUID | None = None
    created_by: Annotated[LinkCreator, Columns({"created_by_type": "type", "created_by_client_id": "oauth_client_id"})]
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
    def net_minor(self) -> int:
        """The amount without the taxes that it includes."""
        return self.amount_minor - sum(line.amount_minor for line in self.tax_lines)

    def status_at(self, now: datetime) -> LinkStatus:
        """The status at `now`."""
        return effective_status(self.status, self.expires_at, now + self.clock_offset)


LINK = Record(PaymentLink, "payment_links")


def new_link_token() -> str:
    """A token for the checkout URL: 128 random bits in 26 characters, independent of the link's id."""
    return base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()
