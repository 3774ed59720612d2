"""What is done about each type of event. Only the type and the ID of an event count; the state is read from the API."""

from datetime import datetime

from tollhouse.http.services import Services
from tollhouse.rails.cards import disputes, payments
from tollhouse.rails.cards.store import ProviderEvent
from tollhouse.rails.cards.stripe.cards import StripeCards

PAGE_TYPES = frozenset({"checkout.session.completed", "checkout.session.expired"})
INTENT_TYPES = frozenset({"payment_intent.processing", "payment_intent.succeeded", "payment_intent.canceled"})
DISPUTE_TYPES = frozenset(
    f"charge.dispute.{what}" for what in ("created", "updated", "closed", "funds_withdrawn", "funds_reinstated")
)
RELEVANT_TYPES = PAGE_TYPES | INTENT_TYPES | DISPUTE_TYPES
"""What can change a payment here. Every other type would cost requests to the provider for nothing."""


async def apply(services: Services, cards: StripeCards, event: ProviderEvent, now: datetime) -> None:
    """Read what the event is about and apply it. Raises as `payments.synchronize`."""
    if event.type in PAGE_TYPES:
        await payments.synchronize(services, cards, event.object_id, now)
    elif event.type in INTENT_TYPES:
        reference = await cards.find_reference(event.object_id)
        if reference is not None:
            await payments.synchronize(services, cards, reference, now)
    elif event.type in DISPUTE_TYPES:
        await disputes.synchronize(services, cards, event.object_id, now)
