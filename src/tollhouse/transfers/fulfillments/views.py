"""Products and fulfillments in the Integration API."""

from typing import Annotated, Any, Literal

from msgspec import Struct

from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.amounts import pairs
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import Product, UnavailableReason
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.transfers.fulfillments.model import Fulfillment


class ProductView(Struct, frozen=True, kw_only=True):
    """A product of GET /fulfillment-products. `price` is per unit."""

    product_id: str
    object: Literal["fulfillment_product"] = "fulfillment_product"
    game: Annotated[str, example("Sandbox")]
    name: Annotated[str, example("Sandbox")]
    unit: Annotated[str, example("gem")]
    minimum_quantity: Annotated[int, example(1)]
    maximum_quantity: Annotated[int, example(10_000)]
    price: str
    price_minor: int
    currency: str
    recipient_schema: Annotated[
        dict[str, Any],
        example({"type": "object", "properties": {"player_id": {"type": "string"}}, "required": ["player_id"]}),
    ]
    available: bool
    unavailable_reason: UnavailableReason | None
    mode: Mode
    livemode: bool


@view_of(Fulfillment)
class FulfillmentView(RecordView, frozen=True, kw_only=True):
    """GET /fulfillments/{id}. `cost` is of the ordered quantity, `charged` of the delivered one."""

    object: Annotated[Literal["fulfillment"], After("id")] = "fulfillment"
    cost_minor: Annotated[int, After("unit_price_minor")]
    charged_minor: Annotated[int, After("cost_minor")]


def product_view(product: Product, mode: Mode, catalogue: Catalogue) -> ProductView:
    """A product in this environment."""
    reason = catalogue.product_unavailable(product, mode)
    return ProductView(
        product_id=product.product_id,
        game=product.game,
        name=product.name,
        unit=product.unit,
        minimum_quantity=product.minimum_quantity,
        maximum_quantity=product.maximum_quantity,
        **pairs(product.currency, catalogue, price=product.unit_price_minor),
        currency=product.currency,
        recipient_schema=product.recipient_schema,
        available=reason is None,
        unavailable_reason=reason,
        mode=mode,
        livemode=mode == "live",
    )
