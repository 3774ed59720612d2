"""The objects of the provider's API, with the members that are used, and its amounts. Unknown members are ignored.

Names and values are those of the public API reference. No member holds card data.
"""

from typing import Annotated

from msgspec import Meta, Struct

Id = Annotated[str, Meta(pattern="^[A-Za-z0-9_]{1,255}$")]
"""An ID of the provider. It becomes part of URLs, so it has no other characters."""
HUNDREDTHS_AT_PROVIDER = frozenset({"ISK", "UGX"})
"""No minor units by ISO 4217; the provider writes hundredths, which are zero."""
WHOLE_AT_PROVIDER = frozenset({"MGA"})
"""Two decimals by ISO 4217; the provider writes whole units."""
TENS_OF_THOUSANDTHS = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
"""Three decimals, of which the provider takes two: the last digit is a zero."""
HUNDRED, TEN = 100, 10


class StripeCharge(Struct, frozen=True):
    """A charge of a card."""

    created: int


class PaymentIntent(Struct, frozen=True):
    """A payment at the provider. `latest_charge` is an ID unless it was expanded."""

    id: Id
    status: str
    amount: int
    currency: str
    amount_received: int | None = None
    latest_charge: StripeCharge | Id | None = None


class CheckoutSession(Struct, frozen=True):
    """A hosted payment page: `open`, `complete` or `expired`. The intent is an ID unless it was expanded."""

    id: Id
    status: str
    livemode: bool = False
    url: str | None = None
    client_reference_id: str | None = None
    payment_intent: PaymentIntent | Id | None = None


class StripeRefund(Struct, frozen=True):
    """A refund at the provider. `metadata` has the ID of our refund."""

    id: Id
    status: str | None
    metadata: dict[str, str] | None = None


class SessionList(Struct, frozen=True):
    """A page of sessions, newest first."""

    data: list[CheckoutSession]


class StripeRefundList(Struct, frozen=True):
    """A page of refunds, newest first."""

    data: list[StripeRefund]
    has_more: bool = False


class EvidenceDetails(Struct, frozen=True):
    """Until when evidence of a dispute is taken, as a Unix time."""

    due_by: int | None = None


class StripeDispute(Struct, frozen=True, kw_only=True):
    """A dispute of a charge. The amount is in the currency of the charge. Inquiries have a status of `warning_…`."""

    id: Id
    status: str
    amount: int
    currency: str
    reason: Annotated[str, Meta(max_length=100)]
    payment_intent: Id | None = None
    evidence_details: EvidenceDetails | None = None
    livemode: bool = False


class StripeDisputeList(Struct, frozen=True):
    """A page of disputes, newest first."""

    data: list[StripeDispute]
    has_more: bool = False


class StripeBalanceAmount(Struct, frozen=True):
    """A currency of the balance."""

    amount: int
    currency: str


class StripeBalance(Struct, frozen=True):
    """The balance of the account: what can be paid out, and what will be able to later."""

    available: list[StripeBalanceAmount]
    pending: list[StripeBalanceAmount]
    livemode: bool = False


class StripeBalanceTransactionSource(Struct, frozen=True):
    """The charge, refund, dispute or payout of a balance transaction."""

    id: Id
    payment_intent: Id | None = None
    metadata: dict[str, str] | None = None


class StripeBalanceTransaction(Struct, frozen=True, kw_only=True):
    """A change of the balance, by `amount` less `fee`. The source is an ID unless it was expanded."""

    id: Id
    amount: int
    fee: int
    currency: str
    created: int
    available_on: int
    reporting_category: Annotated[str, Meta(max_length=100)]
    source: StripeBalanceTransactionSource | Id | None = None


class StripeBalanceTransactionList(Struct, frozen=True):
    """A page of balance transactions, newest first."""

    data: list[StripeBalanceTransaction]
    has_more: bool = False


class StripeEventObject(Struct, frozen=True):
    """The object that an event is about. Its state is not read from the event, but from the API."""

    id: Id


class StripeEventData(Struct, frozen=True):
    """The data of an event."""

    object: StripeEventObject


class StripeEvent(Struct, frozen=True):
    """A webhook event."""

    id: Id
    type: Annotated[str, Meta(max_length=100)]
    data: StripeEventData
    livemode: bool = False


class StripeErrorObject(Struct, frozen=True):
    """Why a request was refused."""

    type: str = ""
    code: str | None = None


class StripeErrorBody(Struct, frozen=True):
    """The body of an error response."""

    error: StripeErrorObject = StripeErrorObject()


class InexactAmountError(ValueError):
    """The provider cannot take this amount, or it reported one that has no equivalent here."""


def to_provider(currency: str, amount_minor: int) -> int:
    """An amount in minor units as the provider writes it. Raises `InexactAmountError`."""
    if currency in HUNDREDTHS_AT_PROVIDER:
        return amount_minor * HUNDRED
    if currency in WHOLE_AT_PROVIDER:
        return _divided(amount_minor, HUNDRED)
    if currency in TENS_OF_THOUSANDTHS:
        return _divided(amount_minor, TEN) * TEN
    return amount_minor


def from_provider(currency: str, provider_minor: int) -> int:
    """An amount of the provider in minor units. Raises `InexactAmountError`."""
    if currency in HUNDREDTHS_AT_PROVIDER:
        return _divided(provider_minor, HUNDRED)
    return provider_minor * HUNDRED if currency in WHOLE_AT_PROVIDER else provider_minor


def _divided(minor: int, by: int) -> int:
    whole, rest = divmod(minor, by)
    if rest:
        raise InexactAmountError(f"{minor} is not a multiple of {by}")
    return whole
