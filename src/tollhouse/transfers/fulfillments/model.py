"""Fulfillments: their members, amounts and errors, and their JSON in the Integration API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.amounts import pairs
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import Product, UnavailableReason
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.grants import GrantOrder
from tollhouse.platform.database.records import Internal, Json, Record

FulfillmentStatus = Literal["pending", "processing", "completed", "partially_completed", "failed", "canceled"]
"""State of a fulfillment.

pending: It waits to be delivered.
processing: The game server was called.
completed: All units were delivered.
partially_completed: A part was delivered and charged.
failed: Nothing was delivered or charged.
canceled: It was canceled before it was delivered.
"""


class Fulfillment(Struct, frozen=True, kw_only=True):
    """A quantity of a product for a player. The cost is on hold until the game server has answered.

    Of each unit's price, `unit_wholesale_minor` goes to the game and the rest to the platform.
    """

    id: UUID
    status: Annotated[FulfillmentStatus, example("completed")] = "pending"
    """State of the delivery."""
    product_id: str
    """ID of the product."""
    quantity: Annotated[int, example(10)]
    """Units that you ordered."""
    delivered_quantity: Annotated[int, example(10)] = 0
    """Units that were delivered."""
    unit_price_minor: int
    """Price of one unit."""
    currency: str
    recipient: Annotated[Json[dict[str, Any]], example({"player_id": "nina-7"})]
    """Player who gets it."""
    project_id: UUID | None
    provider_reference: str | None = None
    failure_code: str | None = None
    attempts: Annotated[int, example(1)] = 0
    """How often the game server was called."""
    webhook_url: str | None
    external_id: str | None
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    processing_at: Annotated[datetime | None, example("2026-11-21T09:30:00.000Z")] = None
    completed_at: Annotated[datetime | None, example("2026-11-21T09:30:00.000Z")] = None
    version: int = 1
    server: Internal[str]
    unit_wholesale_minor: Internal[int]
    hold_id: Internal[UUID]
    credential_id: Internal[UUID | None] = None
    """The connection or API key that asked for it."""

    @property
    def cost_minor(self) -> int:
        """The cost of the ordered quantity."""
        return self.unit_price_minor * self.quantity

    @property
    def charged_minor(self) -> int:
        """The cost of the delivered quantity."""
        return self.unit_price_minor * self.delivered_quantity

    @property
    def order(self) -> GrantOrder:
        """The order for the game server, in the current attempt."""
        return GrantOrder(
            fulfillment_id=self.id,
            product_id=self.product_id,
            quantity=self.quantity,
            recipient=self.recipient,
            livemode=self.env.livemode,
            attempt=self.attempts,
        )


FULFILLMENT = Record(Fulfillment, "fulfillments", also=("cost_minor", "next_look_at"))


class ProductUnavailable(ApiError):
    """422: the product is unknown or unavailable; `details.unavailable_reason` says why."""

    code, status = "product_unavailable", 422
    message = "This product is not available."
    solution = "Choose a product that the list shows as available."

    def __init__(self, reason: UnavailableReason | None) -> None:
        super().__init__(
            field_errors=[FieldError("product_id", self.code, self.message)],
            members=None if reason is None else {"details": {"unavailable_reason": reason}},
        )


class ProductView(Struct, frozen=True, kw_only=True):
    """A product of GET /fulfillment-products. `price` is per unit."""

    product_id: str
    """ID of the product."""
    object: Literal["fulfillment_product"] = "fulfillment_product"
    game: Annotated[str, example("Sandbox")]
    """Name of the game."""
    name: Annotated[str, example("Sandbox")]
    """Name of the product."""
    unit: Annotated[str, example("gem")]
    """What one unit is."""
    minimum_quantity: Annotated[int, example(1)]
    """Fewest units of an order."""
    maximum_quantity: Annotated[int, example(10_000)]
    """Most units of an order."""
    price: str
    """Price of one unit."""
    price_minor: int
    currency: str
    recipient_schema: Annotated[
        dict[str, Any],
        example({"type": "object", "properties": {"player_id": {"type": "string"}}, "required": ["player_id"]}),
    ]
    """JSON Schema of `recipient`."""
    available: bool
    """Whether it can be ordered."""
    unavailable_reason: UnavailableReason | None
    """Why it cannot be ordered; null if it can."""
    mode: Mode
    livemode: bool


@view_of(Fulfillment)
class FulfillmentView(RecordView, frozen=True, kw_only=True):
    """GET /fulfillments/{id}. `cost` is of the ordered quantity, `charged` of the delivered one."""

    object: Annotated[Literal["fulfillment"], After("id")] = "fulfillment"
    cost_minor: Annotated[int, After("unit_price_minor")]
    """Price of the ordered units."""
    charged_minor: Annotated[int, After("cost_minor")]
    """Price of the delivered units, which leaves the balance."""


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
