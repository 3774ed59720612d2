"""The interface to game servers: what is ordered, and the three outcomes."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct


class GrantOrder(Struct, frozen=True, kw_only=True):
    """An order of in-game currency. The id is an idempotency key: a repeated grant is delivered once."""

    fulfillment_id: UUID
    product_id: str
    quantity: int
    recipient: dict[str, Any]
    livemode: bool
    attempt: int


class GrantAnswer(Struct, frozen=True, kw_only=True):
    """The outcome of a grant. `unknown` (timeout, lost connection, invalid response) is not a rejection: it is sent again.

    `granted` has a reference and the delivered quantity, which may be lower than ordered; `refused` has a code.
    """

    outcome: Literal["granted", "refused", "unknown"]
    reference: str | None = None
    delivered_quantity: int = 0
    failure_code: str | None = None


UNKNOWN = GrantAnswer(outcome="unknown")
