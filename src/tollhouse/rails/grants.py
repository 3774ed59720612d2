"""The seam to whoever delivers into a game: what is ordered, and the three answers there are."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct


class GrantOrder(Struct, frozen=True, kw_only=True):
    """What a player shall get. Its id is our reference there, so that asking twice delivers it once."""

    fulfillment_id: UUID
    product_id: str
    quantity: int
    recipient: dict[str, Any]
    livemode: bool
    attempt: int


class GrantAnswer(Struct, frozen=True, kw_only=True):
    """What became of asking. `unknown` (a timeout, a broken line, nonsense) is no refusal: it is asked again, as the same.

    Granted has a reference and how much of it was delivered, which may be less than was ordered; refused has a code.
    """

    outcome: Literal["granted", "refused", "unknown"]
    reference: str | None = None
    delivered_quantity: int = 0
    failure_code: str | None = None


UNKNOWN = GrantAnswer(outcome="unknown")
