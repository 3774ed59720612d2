"""The interface of a rail: requests to it, what it reports, and what it has outside of the ledger.

Rails are stateless; all state is in the database.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.kernel.text import Translatable

Decline = Literal["card_declined", "insufficient_funds", "expired_method", "double_spend", "canceled_by_customer"]
"""Why a payment failed.

card_declined: The customer's bank declined it.
insufficient_funds: The customer's account has too little money.
expired_method: The card or account has expired.
double_spend: The money was spent in another transfer.
canceled_by_customer: The customer canceled it.
"""
RefundError = Literal["refund_declined", "receiver_invalid", "returned_by_bank"]
PayoutError = Literal["payout_declined", "receiver_invalid"]
RailError = Literal["provider_not_configured", "provider_down"]
"""Why a rail cannot be used.

provider_not_configured: The operator has not set up the provider.
provider_down: The provider does not answer.
"""
SANDBOX_RAIL = "sandbox"
"""The name of the rail of test mode."""


class RailUnavailableError(Exception):
    """The rail cannot be reached, or did not answer in time. What was asked of it may have happened."""


class Health(Struct, frozen=True):
    """Whether a rail is available, with the reason if not.

    `currencies` are those that it carries; None: all. `payout_reason` is why it pays nothing out, though it can be paid.
    `payouts_down` are the currencies of which it has too little to pay out now.
    """

    available: bool
    reason: RailError | None = None
    currencies: frozenset[str] | None = None
    payout_reason: RailError | None = None
    payouts_down: frozenset[str] = frozenset()


class Attempt(Struct, frozen=True):
    """A customer's payment attempt. Its id is the idempotency key: a repeated start starts it once.

    `decimals` is the scale of the amount. `address` is the attempt's own, on rails whose addresses are kept in the database.
    `page_url` is the checkout page of the attempt, to which the provider's page leads back, `payee` the merchant's name, and
    `expires_at` the deadline of the link.
    """

    id: UUID
    method_id: str
    currency: str
    amount_minor: int
    decimals: int = 0
    address: str | None = None
    page_url: str = ""
    payee: str = ""
    expires_at: datetime | None = None


class Instructions(Struct, frozen=True):
    """What the customer sees. Observations of the rail refer to the attempt by `reference`.

    `holder` and `bic` are set if the address is a bank account. `redirect_url` is the provider's page on which the customer
    pays; there is nothing to send or to scan then.
    """

    reference: str
    words: str
    address: str | None = None
    pay_amount: str | None = None
    uri: str | None = None
    holder: str | None = None
    bic: str | None = None
    redirect_url: str | None = None


class Payer(Struct, frozen=True):
    """The payer's account or address as the rail writes it, and its holder."""

    account: str
    name: str | None = None


class ObservedDispute(Struct, frozen=True, kw_only=True):
    """A dispute as the provider describes it now.

    `closed` is how it ended; None while it is open.
    """

    id: str
    reason: str
    evidence_due_at: datetime | None = None
    closed: Literal["won", "lost"] | None = None


class Observation(Struct, frozen=True, kw_only=True):
    """What a rail observed for the attempt of this reference. Repeated and late observations change nothing.

    `seen`: money is on its way and may not arrive; `vanished`: it will not arrive; `confirmed`: it has arrived finally;
    `failed`: the attempt was declined. `external_ref` is the rail's id of the transfer or callback: observations with the
    same one and the same outcome are duplicates. The currency is that of the attempt.

    `reversed`: a confirmed transfer is gone, in whole or, with an amount above 0, in part; `reinstated`: it is there again.
    `external_ref` is that of the transfer. `reversal_ref` tells several reversals of one transfer apart, for example by the
    block that was dropped; with a `dispute` it is the dispute's id. A reversal happens once and is reinstated once, in any
    order of reports. A dispute that was reported as `reversed` is reported again when it changes.

    `transfer_ref` names the transfer in `seen` and `vanished`, where `external_ref` names the report, as one of a block; by
    default they are the same. It is the `external_ref` with which the transfer is confirmed.

    `payer` is the account that the money came from, if known. `sent_at` is when the payer sent the money, if known;
    `arrived_at` is when it arrived, by default when it is reported: on a network the time of the block that it is in.
    `first_seen_at` is when the rail can have seen the transfer first, if that is not when it is reported first.
    """

    reference: str
    outcome: Literal["seen", "vanished", "confirmed", "failed", "reversed", "reinstated"]
    external_ref: str
    transfer_ref: str | None = None
    amount_minor: int = 0
    currency: str | None = None
    failure_code: Decline | None = None
    confirmations: int | None = None
    required_confirmations: int | None = None
    payer: Payer | None = None
    sent_at: datetime | None = None
    arrived_at: datetime | None = None
    first_seen_at: datetime | None = None
    reversal_ref: str = ""
    dispute: ObservedDispute | None = None

    @property
    def transfer(self) -> str:
        """The rail's id of the transfer."""
        return self.transfer_ref or self.external_ref


class PaymentTimes(Struct, frozen=True):
    """How long payments by a rail take.

    `settlement` is how long money may be on its way: what arrives that long after a deadline may have been sent before it.
    `link_lifetime_min` is the least lifetime that links have by default when they can be paid by this rail.
    `block_within` is for networks: a transfer counts as of the moment when it was seen first if it is in a block so long
    after that, and otherwise as of its block. `can_return`: a transfer that was gone can be on its way again.
    """

    settlement: timedelta = timedelta()
    link_lifetime_min: timedelta = timedelta()
    block_within: timedelta | None = None
    can_return: bool = False


AT_ONCE = PaymentTimes()
"""Money arrives when it is sent."""

BLOCK_WITHIN = timedelta(hours=2)
"""The usual `block_within` of networks."""


class RefundOrder(Struct, frozen=True):
    """A refund order. Its id is the idempotency key: a repeated order is paid once."""

    id: UUID
    reference: str
    currency: str
    amount_minor: int
    receiver: str
    payment_minor: int
    ordered_at: datetime


class Submission(Struct, frozen=True):
    """The outcome of submitting an order. `unknown` (timeout, lost connection) is not a rejection and never frees funds."""

    outcome: Literal["accepted", "rejected", "unknown"]
    provider_reference: str | None = None
    failure_code: RefundError | PayoutError | None = None


class RefundState(Struct, frozen=True):
    """The state of an accepted order at the provider."""

    outcome: Literal["pending", "succeeded", "failed"]
    failure_code: RefundError | None = None


class PayoutOrder(Struct, frozen=True):
    """A withdrawal order. Its id is the idempotency key: a repeated order is sent once."""

    id: UUID
    method_id: str
    currency: str
    amount_minor: int
    receiver: str
    provider_fields: dict[str, Any]
    ordered_at: datetime


class PayoutState(Struct, frozen=True):
    """The state of a submitted order at the provider.

    `absent`: the provider does not have it, for certain; `unknown`: it cannot tell now.
    `network_fee_minor` is the actual network fee if it differs from that of the method.
    """

    outcome: Literal["absent", "unknown", "pending", "succeeded", "failed"]
    failure_code: PayoutError | None = None
    tx_hash: str | None = None
    network_fee_minor: int | None = None


class Provider(Protocol):
    """One rail in one environment."""

    @property
    def name(self) -> str:
        """The name in its ledger account."""
        ...

    @property
    def mode(self) -> Mode:
        """The mode it works in."""
        ...

    @property
    def is_exported(self) -> bool:
        """Whether accepted refunds and payouts leave only by a file that operators export."""
        ...

    @property
    def times(self) -> PaymentTimes:
        """How long its payments take."""
        ...

    def health(self) -> Health:
        """Whether its methods are available."""
        ...

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """Start an attempt, once per id. Called without an open transaction. Raises `RailUnavailableError`."""
        ...

    def receiver_error(self, receiver: str) -> Translatable | None:
        """Why money cannot be sent to this receiver, as a sentence; None if it can."""
        ...

    def account_of(self, receiver: str) -> str:
        """The receiver in normal form: different spellings of one account are equal."""
        ...

    async def refund(self, order: RefundOrder) -> Submission:
        """Submit a refund, once per id. Called without an open transaction."""
        ...

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:
        """The state of an accepted refund. Called without an open transaction."""
        ...

    async def payout(self, order: PayoutOrder) -> Submission:
        """Submit a withdrawal, once per id. Called without an open transaction."""
        ...

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:
        """The state of a withdrawal that was or may have been submitted. Called without an open transaction."""
        ...


class OutsideBalance(Struct, frozen=True, kw_only=True):
    """One currency of a rail at one moment, in units of 10^-decimals of the currency.

    `places`: where the money is. `in_flight`: what the ledger does not have yet (above zero) or has no longer (below zero),
    by its cause. Without mistakes, all places together are the balance of the ledger and all that is in flight.
    """

    currency: str
    decimals: int
    places: Mapping[str, int]
    in_flight: Mapping[str, int]


class OutsideBalances(Struct, frozen=True):
    """The balances of a rail. `as_of` says to what they refer, such as `block 123`."""

    as_of: str
    currencies: tuple[OutsideBalance, ...]


class CannotMeasureError(Exception):
    """The rail cannot be measured now. The text says why, for operators."""
