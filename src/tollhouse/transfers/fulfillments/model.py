"""Fulfillments: their members and amounts."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.rails.grants import GrantOrder
from tollhouse.platform.database.records import Internal, Json, Record

FulfillmentStatus = Literal["pending", "processing", "completed", "partially_completed", "failed", "canceled"]


class Fulfillment(Struct, frozen=True, kw_only=True):
    """A quantity of a product for a player. The cost is on hold until the game server has answered.

    Of each unit's price, `unit_wholesale_minor` goes to the game and the rest to the platform.
    """

    id: UUID
    status: Annotated[FulfillmentStatus, example("completed")] = "pending"
    product_id: str
    quantity: Annotated[int, example(10)]
    delivered_quantity: Annotated[int, example(10)] = 0
    unit_price_minor: int
    currency: str
    recipient: Annotated[Json[dict[str, Any]], example({"player_id": "nina-7"})]
    project_id: UUID | None
    provider_reference: str | None = None
    failure_code: str | None = None
    attempts: Annotated[int, example(1)] = 0
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
