"""Payment links as JSON in the API and in events, and the options of forms and filters in the dashboard."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Struct

from tollhouse.accounts.environments import store as projects
from tollhouse.http.lists import all_rows
from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.text import Text, Translatable
from tollhouse.payments.links.model import PaymentLink, UnpayableReason
from tollhouse.platform.database.pool import Pool

PROJECTS_SHOWN = 100


class TaxLineView(Struct, frozen=True):
    """A tax that is included in the amount."""

    name: str
    """Name and rate of the tax."""
    amount: str
    amount_minor: int


class LineItemView(Struct, frozen=True):
    """A line of what is sold."""

    name: str
    """Name of the item."""
    quantity: int
    """Number of items."""
    unit_amount: str
    """Price of one item, taxes included."""
    unit_amount_minor: int
    amount: str
    amount_minor: int


class CustomerAmountView(Struct, frozen=True):
    """The amounts that the customer can choose. `preset` is what the checkout suggests."""

    min: str
    """Smallest amount."""
    min_minor: int
    max: str
    """Largest amount."""
    max_minor: int
    preset: str | None
    """Amount that the checkout suggests."""
    preset_minor: int | None


@view_of(PaymentLink)
class LinkView(RecordView, frozen=True, kw_only=True):
    """GET /payment-links/{id}."""

    object: Annotated[Literal["payment_link"], After("id")] = "payment_link"
    url: Annotated[str, After("object"), example("https://pay.example/pay/x7Kq2")]
    payable: Annotated[bool, After("status"), example(True)]
    """Whether a customer could pay the link now."""
    unpayable_reason: Annotated[UnpayableReason | None, After("payable"), example(None)]
    """Why nobody can pay the link now; null if somebody can."""
    tax_lines: Annotated[list[TaxLineView], example([])]
    """Taxes that the amount includes."""
    line_items: Annotated[list[LineItemView], example([])]
    """What is sold, line by line."""
    customer_amount: Annotated[CustomerAmountView | None, example(None)]
    """Amounts that customers can choose; null if the amount is fixed."""


def link_view(
    link: PaymentLink, base_url: str, now: datetime, catalogue: Catalogue, reason: UnpayableReason | None = "not_active"
) -> LinkView:
    """The link at `now`. `reason`: why nobody can pay it, of an active link as `payability.py` says."""
    return LinkView.of(
        link,
        catalogue,
        url=f"{base_url}/pay/{link.token}",
        status=link.status_at(now),
        payable=reason is None,
        unpayable_reason=reason,
        tax_lines=[
            TaxLineView(line.name, catalogue.format_amount(line.amount_minor, link.currency), line.amount_minor)
            for line in link.tax_lines
        ],
        line_items=[
            LineItemView(
                item.name,
                item.quantity,
                catalogue.format_amount(item.unit_amount_minor, link.currency),
                item.unit_amount_minor,
                catalogue.format_amount(item.amount_minor, link.currency),
                item.amount_minor,
            )
            for item in link.line_items
        ],
        customer_amount=_customer_amount(link, catalogue),
    )


def _customer_amount(link: PaymentLink, catalogue: Catalogue) -> CustomerAmountView | None:
    chosen = link.customer_amount
    if chosen is None:
        return None
    least, most = (catalogue.format_amount(minor, link.currency) for minor in (chosen.min_minor, chosen.max_minor))
    preset = None if chosen.preset_minor is None else catalogue.format_amount(chosen.preset_minor, link.currency)
    return CustomerAmountView(least, chosen.min_minor, most, chosen.max_minor, preset, chosen.preset_minor)


def method_choices(env: MerchantEnv, catalogue: Catalogue) -> list[tuple[str, Translatable]]:
    """The payment methods of an environment: id and name."""
    found = (method for method in catalogue.methods.values() if method.mode == env.mode)
    return [(method.method_id, method.label) for method in found]


def method_labels(catalogue: Catalogue) -> dict[str, Translatable]:
    """Names by method id. A method that has left the catalogue is shown by its id."""
    return {method_id: method.label for method_id, method in catalogue.methods.items()}


def currency_choices(catalogue: Catalogue) -> list[tuple[str, Text]]:
    """The currencies that a link can be paid in."""
    return [(currency.code, currency.label) for currency in catalogue.currencies.values() if currency.operations.payments]


async def project_choices(db: Pool, env: MerchantEnv) -> list[tuple[str, str]]:
    """The merchant's projects in an environment: id and name."""
    found = await projects.every(db, env.merchant_id, env.mode, all_rows(PROJECTS_SHOWN))
    return [(str(project.id), project.facts.name) for project in found]
