"""The seam to a provider: what is asked of a rail, and what it reports. Stateless; all state is in our rows."""

from typing import Literal, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode

Decline = Literal["card_declined", "insufficient_funds"]


class Health(Struct, frozen=True):
    """Whether a rail can be used now, and why not."""

    available: bool
    reason: Literal["provider_not_configured", "provider_down"] | None = None


class Attempt(Struct, frozen=True):
    """A customer's attempt to pay. Its id is our reference at the provider, so that asking twice starts it once."""

    id: UUID
    method_id: str
    currency: str
    amount_minor: int


class Instructions(Struct, frozen=True):
    """What the customer is told. `reference` finds the attempt again in whatever the rail observes."""

    reference: str
    words: str
    address: str | None = None
    pay_amount: str | None = None


class Observation(Struct, frozen=True):
    """What a rail saw happen to the attempt of this reference. Repeats and stragglers are expected, and change nothing."""

    reference: str
    outcome: Literal["succeeded", "failed"]
    received_minor: int = 0
    failure_code: Decline | None = None


class Provider(Protocol):
    """One rail in one environment."""

    @property
    def name(self) -> str:
        """The name its ledger account carries."""
        ...

    @property
    def mode(self) -> Mode:
        """The environment it works in."""
        ...

    def health(self) -> Health:
        """Whether its methods are available now."""
        ...

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """Begin an attempt; the same id begins it once. Called with no transaction open."""
        ...
