"""The seam to a provider: what is asked of a rail, and what it reports. Stateless; all state is in our rows."""

from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode

Decline = Literal["card_declined", "insufficient_funds", "expired_method", "double_spend", "canceled_by_customer"]
RefundError = Literal["refund_declined", "receiver_invalid", "returned_by_bank"]
PayoutError = Literal["payout_declined", "receiver_invalid"]
RailError = Literal["provider_not_configured", "provider_down"]


class Health(Struct, frozen=True):
    """Whether a rail can be used now, and why not."""

    available: bool
    reason: RailError | None = None


class Attempt(Struct, frozen=True):
    """A customer's attempt to pay. Its id is our reference at the provider, so that asking twice starts it once."""

    id: UUID
    method_id: str
    currency: str
    amount_minor: int


class Instructions(Struct, frozen=True):
    """What the customer is told. `reference` finds the attempt again in whatever the rail observes.

    `holder` and `bic` belong to an address that is a bank account.
    """

    reference: str
    words: str
    address: str | None = None
    pay_amount: str | None = None
    uri: str | None = None
    holder: str | None = None
    bic: str | None = None


class Payer(Struct, frozen=True):
    """Who paid: the account or address that money came from, as the rail writes it, and whose it is."""

    account: str
    name: str | None = None


class Observation(Struct, frozen=True, kw_only=True):
    """What a rail saw happen to the attempt of this reference. Repeats and stragglers are expected, and change nothing.

    `seen`: money is on its way and may still not come; `vanished`: it will not; `confirmed`: it is there for good;
    `failed`: the attempt was declined. `external_ref` is the rail's own name of the transfer or callback: two observations
    with the same one and the same outcome are one. No currency: that of the attempt.
    `payer`: the account that the money came from, where the rail knows it.
    """

    reference: str
    outcome: Literal["seen", "vanished", "confirmed", "failed"]
    external_ref: str
    amount_minor: int = 0
    currency: str | None = None
    failure_code: Decline | None = None
    confirmations: int | None = None
    required_confirmations: int | None = None
    payer: Payer | None = None


class RefundOrder(Struct, frozen=True):
    """Money to give back. Its id is our reference at the provider, so that asking twice gives it back once."""

    id: UUID
    reference: str
    currency: str
    amount_minor: int
    receiver: str
    payment_minor: int
    ordered_at: datetime


class Submission(Struct, frozen=True):
    """What became of handing an order in. `unknown` (a timeout, a broken line) is not a refusal: it never frees funds."""

    outcome: Literal["accepted", "rejected", "unknown"]
    provider_reference: str | None = None
    failure_code: RefundError | PayoutError | None = None


class RefundState(Struct, frozen=True):
    """What the provider says of an order that it has accepted."""

    outcome: Literal["pending", "succeeded", "failed"]
    failure_code: RefundError | None = None


class PayoutOrder(Struct, frozen=True):
    """Money to send out. Its id is our reference at the provider, so that asking twice sends it once."""

    id: UUID
    method_id: str
    currency: str
    amount_minor: int
    receiver: str
    provider_fields: dict[str, Any]
    ordered_at: datetime


class PayoutState(Struct, frozen=True):
    """What the provider says of an order that we handed in, or tried to.

    `absent`: it never got it, for sure, and nothing of ours is on its way there; `unknown`: it cannot tell now.
    `network_fee_minor` is what it really took for the way, where that is not what the method says.
    """

    outcome: Literal["absent", "unknown", "pending", "succeeded", "failed"]
    failure_code: PayoutError | None = None
    tx_hash: str | None = None
    network_fee_minor: int | None = None


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

    def receiver_error(self, receiver: str) -> str | None:
        """Why money cannot go to this receiver, in a sentence; None where it can."""
        ...

    def account_of(self, receiver: str) -> str:
        """The receiver as the rail writes it: two that are spelt otherwise are the same account."""
        ...

    async def refund(self, order: RefundOrder) -> Submission:
        """Hand a refund in; the same id is given back once. Called with no transaction open."""
        ...

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:
        """What became of a refund that was accepted. Called with no transaction open."""
        ...

    async def payout(self, order: PayoutOrder) -> Submission:
        """Hand a withdrawal in; the same id is sent once. Called with no transaction open."""
        ...

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:
        """What became of a withdrawal that was handed in, or may have been. Called with no transaction open."""
        ...
