"""Products and fulfillments in the Integration API."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import pairs
from tollhouse.catalogue.products import Product, UnavailableReason
from tollhouse.fulfillments.model import Fulfillment, FulfillmentStatus
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.ids import Mode


class ProductView(Struct, frozen=True, kw_only=True):
    """A product of GET /fulfillment-products. `price` is per unit."""

    product_id: str
    object: Literal["fulfillment_product"] = "fulfillment_product"
    game: str
    name: str
    unit: str
    minimum_quantity: int
    maximum_quantity: int
    price: str
    price_minor: int
    currency: str
    recipient_schema: dict[str, Any]
    available: bool
    unavailable_reason: UnavailableReason | None
    mode: Mode
    livemode: bool


class FulfillmentView(Struct, frozen=True, kw_only=True):
    """GET /fulfillments/{id}. `cost` is of the ordered quantity, `charged` of the delivered one."""

    id: UUID
    object: Literal["fulfillment"] = "fulfillment"
    status: FulfillmentStatus
    product_id: str
    quantity: int
    delivered_quantity: int
    unit_price: str
    unit_price_minor: int
    cost: str
    cost_minor: int
    charged: str
    charged_minor: int
    currency: str
    recipient: dict[str, Any]
    project_id: UUID | None
    provider_reference: str | None
    failure_code: str | None
    attempts: int
    webhook_url: str | None
    external_id: str | None
    metadata: dict[str, str]
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    processing_at: Timestamp | None
    completed_at: Timestamp | None
    version: int


def product_view(product: Product, mode: Mode) -> ProductView:
    """A product in this environment."""
    reason = product.unavailable_in(mode)
    return ProductView(
        product_id=product.product_id,
        game=product.game,
        name=product.name,
        unit=product.unit,
        minimum_quantity=product.minimum_quantity,
        maximum_quantity=product.maximum_quantity,
        **pairs(product.currency, price=product.unit_price_minor),
        currency=product.currency,
        recipient_schema=product.recipient_schema,
        available=reason is None,
        unavailable_reason=reason,
        mode=mode,
        livemode=mode == "live",
    )


def fulfillment_view(one: Fulfillment) -> FulfillmentView:
    """A fulfillment."""
    return FulfillmentView(
        id=one.id,
        status=one.status,
        product_id=one.product_id,
        quantity=one.quantity,
        delivered_quantity=one.delivered_quantity,
        **pairs(one.currency, unit_price=one.unit_price_minor, cost=one.cost_minor, charged=one.charged_minor),
        currency=one.currency,
        recipient=one.recipient,
        project_id=one.project_id,
        provider_reference=one.provider_reference,
        failure_code=one.failure_code,
        attempts=one.attempts,
        webhook_url=one.webhook_url,
        external_id=one.external_id,
        metadata=one.metadata,
        mode=one.env.mode,
        livemode=one.env.livemode,
        created_at=stamp(one.created_at),
        updated_at=stamp(one.updated_at),
        processing_at=stamp_or_none(one.processing_at),
        completed_at=stamp_or_none(one.completed_at),
        version=one.version,
    )
