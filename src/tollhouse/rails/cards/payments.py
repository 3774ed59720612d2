"""Follows card payments and disputes: reads what the provider says of them, and applies it."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Instructions
from tollhouse.payments.refunds import reversals
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import OPEN
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.cards import store
from tollhouse.rails.cards.store import CardPayment, ProviderEvent
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.objects import CheckoutSession, InexactAmountError, StripeDispute
from tollhouse.rails.cards.stripe.observed import is_ended, observe, observe_dispute

POLL_INTERVAL_MIN, POLL_INTERVAL_MAX = timedelta(seconds=20), timedelta(minutes=10)
POLLS_PER_AGE = 4
"""Polling is for lost events: the interval is a quarter of the payment's age."""


async def follow(tx: Tx, env: MerchantEnv, attempt_id: UUID, instructions: Instructions, now: datetime) -> None:
    """Follow an attempt that is paid on a provider's page, in the transaction that inserts it."""
    if instructions.redirect_url is not None:
        await store.insert_payment(tx, env, attempt_id, now, now + POLL_INTERVAL_MIN)


def find_cards(services: Services, rail: str) -> StripeCards | None:
    """The card rail of this name in live mode."""
    provider = services.rails.find(rail, "live")
    return provider if isinstance(provider, StripeCards) else None


def list_cards(services: Services) -> list[StripeCards]:
    """The configured card rails."""
    return [provider for provider in services.rails.providers.values() if isinstance(provider, StripeCards)]


async def synchronize(services: Services, cards: StripeCards, reference: str, now: datetime) -> CheckoutSession:
    """Read the page of this reference and settle what it says, however often and in whatever order this is called.

    Nothing is settled for a page that other software of the operator opened at the provider. Raises
    `RailUnavailableError`, `StripeError`, and as `reversals.observe`.
    """
    page = await cards.read_page(reference)
    if page.client_reference_id is None:
        return page
    try:
        observation = observe(page)
    except InexactAmountError as error:
        log.error("provider_amount_invalid", part=cards.name, detail=str(error))
        return page
    if observation is not None:
        await reversals.observe(services, cards.name, cards.mode, observation, now)
    return page


async def poll(services: Services, cards: StripeCards, payment: CardPayment, now: datetime) -> None:
    """Read one payment. If our attempt has ended otherwise, its page is closed, so that nobody pays on it any more.

    Raises as `synchronize`.
    """
    page = await synchronize(services, cards, payment.reference, now)
    if is_ended(page):
        await store.schedule_poll(services.db, payment, None)
        return
    attempt = await transaction_store.get(services.db, payment.env, payment.transaction_id)
    if attempt is None or attempt.status_at(now) not in OPEN:
        if page.status == "open":
            await cards.close_page(payment.reference)
        await store.schedule_poll(services.db, payment, now + POLL_INTERVAL_MIN)  # it may be paid at the last moment
        return
    interval = clock.interval_by_age(now - payment.created_at, POLLS_PER_AGE, POLL_INTERVAL_MIN, POLL_INTERVAL_MAX)
    deadline = attempt.link_expires_at - attempt.clock_offset
    await store.schedule_poll(services.db, payment, min(now + interval, deadline) if deadline > now else now + interval)


WATCHED = timedelta(days=540)
"""How long after it was opened a dispute may change: its deadline, the review of the card network, and an appeal."""


async def synchronize_dispute(services: Services, cards: StripeCards, dispute_id: str, now: datetime) -> None:
    """Read a dispute and apply what it says, however often and in whatever order this is called.

    Nothing is done for payments of other software. Raises `RailUnavailableError`, `StripeError`, and as `reversals.observe`.
    """
    dispute = await cards.read_dispute(dispute_id)
    if dispute.payment_intent is None:
        return
    reference = await cards.find_reference(dispute.payment_intent)
    if reference is not None:
        await _apply_dispute(services, cards, dispute, reference, now)


async def poll_disputes(services: Services, cards: StripeCards, now: datetime) -> None:
    """Apply the disputes that say something else at the provider than here.

    One that cannot be applied is left for the next time. Raises `RailUnavailableError` and `StripeError`.
    """
    async for page in cards.list_disputes(now - WATCHED):
        by_id = {one.id: one for one in page}
        for dispute_id, reference in await store.list_changed_disputes(services.db, cards.name, cards.mode, page):
            try:
                await _apply_dispute(services, cards, by_id[dispute_id], reference, now)
            except ApiError as error:
                log.warning("dispute_not_applied", part=cards.name, reason=str(error))


async def _apply_dispute(
    services: Services, cards: StripeCards, dispute: StripeDispute, reference: str, now: datetime
) -> None:
    try:
        observation = observe_dispute(dispute, reference)
    except InexactAmountError as error:
        log.error("provider_amount_invalid", part=cards.name, detail=str(error))
        return
    if observation is not None:
        await reversals.observe(services, cards.name, cards.mode, observation, now)


PAGE_TYPES = frozenset({"checkout.session.completed", "checkout.session.expired"})
INTENT_TYPES = frozenset({"payment_intent.processing", "payment_intent.succeeded", "payment_intent.canceled"})
DISPUTE_TYPES = frozenset(
    f"charge.dispute.{what}" for what in ("created", "updated", "closed", "funds_withdrawn", "funds_reinstated")
)
RELEVANT_TYPES = PAGE_TYPES | INTENT_TYPES | DISPUTE_TYPES
"""What can change a payment here. Every other type would cost requests to the provider for nothing."""


async def apply_event(services: Services, cards: StripeCards, event: ProviderEvent, now: datetime) -> None:
    """Read what the event is about and apply it. Raises as `payments.synchronize`."""
    if event.type in PAGE_TYPES:
        await synchronize(services, cards, event.object_id, now)
    elif event.type in INTENT_TYPES:
        reference = await cards.find_reference(event.object_id)
        if reference is not None:
            await synchronize(services, cards, reference, now)
    elif event.type in DISPUTE_TYPES:
        await synchronize_dispute(services, cards, event.object_id, now)
