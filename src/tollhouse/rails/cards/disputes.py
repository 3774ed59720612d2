"""Follows disputes at the provider: reads what it says of them, and reverses or reinstates their payments."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel.errors import ApiError
from tollhouse.payments.refunds import reversals
from tollhouse.platform.log.events import log
from tollhouse.rails.cards import disputes_store as store
from tollhouse.rails.cards.stripe.amounts import InexactAmountError
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.disputes import observe_dispute
from tollhouse.rails.cards.stripe.objects import StripeDispute

WATCHED = timedelta(days=540)
"""How long after it was opened a dispute may change: its deadline, the review of the card network, and an appeal."""


async def synchronize(services: Services, cards: StripeCards, dispute_id: str, now: datetime) -> None:
    """Read a dispute and apply what it says, however often and in whatever order this is called.

    Nothing is done for payments of other software. Raises `RailUnavailableError`, `StripeError`, and as `reversals.observe`.
    """
    dispute = await cards.read_dispute(dispute_id)
    if dispute.payment_intent is None:
        return
    reference = await cards.find_reference(dispute.payment_intent)
    if reference is not None:
        await _apply(services, cards, dispute, reference, now)


async def poll(services: Services, cards: StripeCards, now: datetime) -> None:
    """Apply the disputes that say something else at the provider than here.

    One that cannot be applied is left for the next time. Raises `RailUnavailableError` and `StripeError`.
    """
    async for page in cards.list_disputes(now - WATCHED):
        by_id = {one.id: one for one in page}
        for dispute_id, reference in await store.list_changed(services.db, cards.name, cards.mode, page):
            try:
                await _apply(services, cards, by_id[dispute_id], reference, now)
            except ApiError as error:
                log.warning("dispute_not_applied", part=cards.name, reason=str(error))


async def _apply(services: Services, cards: StripeCards, dispute: StripeDispute, reference: str, now: datetime) -> None:
    try:
        observation = observe_dispute(dispute, reference)
    except InexactAmountError as error:
        log.error("provider_amount_invalid", part=cards.name, detail=str(error))
        return
    if observation is not None:
        await reversals.observe(services, cards.name, cards.mode, observation, now)
