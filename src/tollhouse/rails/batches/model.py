"""Payouts of rails, and what operators decide about them."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv

OrderKind = Literal["withdrawal", "refund"]


class Order(Struct, frozen=True, kw_only=True):
    """The withdrawal or refund that a payout carries out, whose ID it has."""

    id: UUID
    kind: OrderKind
    env: MerchantEnv


class Decided(Struct, frozen=True):
    """An operator's decision on a transfer or payout; `action_id` is its entry in the history."""

    id: UUID
    outcome: str
    operator: str
    reason: str
    at: Timestamp
    action_id: UUID

    @property
    def summary(self) -> str:
        """The outcome and its subject."""
        return f"{self.outcome} {self.id}"
