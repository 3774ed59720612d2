"""What a hosted payment page of the provider says about its payment."""

from datetime import UTC, datetime

from tollhouse.kernel.rails.provider import Observation, Payer
from tollhouse.rails.cards.stripe.amounts import from_provider
from tollhouse.rails.cards.stripe.objects import CheckoutSession, PaymentIntent, StripeCharge


def intent_of(session: CheckoutSession) -> PaymentIntent | None:
    """The payment of the page; None before the customer has begun to pay. It must have been expanded."""
    return session.payment_intent if isinstance(session.payment_intent, PaymentIntent) else None


def is_ended(session: CheckoutSession) -> bool:
    """Whether the page can no longer be paid, and its payment has succeeded or never will."""
    intent = intent_of(session)
    if intent is None:
        return session.status == "expired"
    return intent.status in {"succeeded", "canceled"} or (session.status == "expired" and intent.status != "processing")


def observe(session: CheckoutSession) -> Observation | None:
    """The observation of the current state; None while nothing has happened.

    A declined card is no observation: the customer tries another one on the same page, until it expires. The states of
    one page come in one order only, and `confirmed` and `failed` are final, so that whoever reads an earlier state late
    changes nothing. Raises `InexactAmountError`.
    """
    intent = intent_of(session)
    if intent is not None and intent.status == "succeeded":
        currency = intent.currency.upper()
        received = intent.amount if intent.amount_received is None else intent.amount_received
        charged_at = _charged_at(intent)
        return Observation(
            reference=session.id,
            outcome="confirmed",
            external_ref=intent.id,
            amount_minor=from_provider(currency, received),
            currency=currency,
            payer=Payer(intent.id),
            sent_at=charged_at,
            arrived_at=charged_at,
        )
    if intent is not None and intent.status == "processing":
        currency = intent.currency.upper()
        return Observation(
            reference=session.id,
            outcome="seen",
            external_ref=intent.id,
            amount_minor=from_provider(currency, intent.amount),
            currency=currency,
        )
    if is_ended(session):
        return Observation(
            reference=session.id, outcome="failed", external_ref=session.id, failure_code="canceled_by_customer"
        )
    return None


def _charged_at(intent: PaymentIntent) -> datetime | None:
    """When the card was charged."""
    charge = intent.latest_charge
    return datetime.fromtimestamp(charge.created, UTC) if isinstance(charge, StripeCharge) else None
