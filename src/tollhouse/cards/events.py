"""What is done about each type of event. Only the type and the ID of an event count; the state is read from the API."""

from datetime import datetime

from tollhouse.cards import payments
from tollhouse.cards.store import ProviderEvent
from tollhouse.http.services import Services
from tollhouse.rails.stripe.cards import StripeCards

PAGE, INTENT = "checkout.session.", "payment_intent."


def is_relevant(event_type: str) -> bool:
    """Whether events of this type say something that is of interest here."""
    return event_type.startswith((PAGE, INTENT))


async def apply(services: Services, cards: StripeCards, event: ProviderEvent, now: datetime) -> None:
    """Read what the event is about and apply it. Raises `RailUnavailableError` and `StripeError`."""
    if event.type.startswith(PAGE):
        await payments.synchronize(services, cards, event.object_id, now)
    elif event.type.startswith(INTENT):
        reference = await cards.find_reference(event.object_id)
        if reference is not None:
            await payments.synchronize(services, cards, reference, now)
