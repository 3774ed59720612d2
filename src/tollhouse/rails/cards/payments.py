"""Follows card payments and disputes: events are applied and what was lost is polled, by what the provider says of each."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Instructions, RailUnavailableError
from tollhouse.payments.refunds import reversals
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import OPEN
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.cards import balance_store, balances, store
from tollhouse.rails.cards.store import CardPayment, ProviderEvent
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import StripeError
from tollhouse.rails.cards.stripe.objects import CheckoutSession, InexactAmountError, StripeDispute
from tollhouse.rails.cards.stripe.observed import is_ended, observe, observe_dispute

POLL_INTERVAL_MIN, POLL_INTERVAL_MAX = timedelta(seconds=20), timedelta(minutes=10)
POLLS_PER_AGE = 4
"""Polling is for lost events: the interval is a quarter of the payment's age."""
WATCHED = timedelta(days=540)
"""How long after it was opened a dispute may change: its deadline, the review of the card network, and an appeal."""
PAGE_TYPES = frozenset({"checkout.session.completed", "checkout.session.expired"})
INTENT_TYPES = frozenset({"payment_intent.processing", "payment_intent.succeeded", "payment_intent.canceled"})
DISPUTE_TYPES = frozenset(
    f"charge.dispute.{what}" for what in ("created", "updated", "closed", "funds_withdrawn", "funds_reinstated")
)
RELEVANT_TYPES = PAGE_TYPES | INTENT_TYPES | DISPUTE_TYPES
"""What can change a payment here. Every other type would cost requests to the provider for nothing."""
BATCH_SIZE = 15
LEASE = timedelta(minutes=10)
"""Longer than a batch takes in which every request, two for each row, runs into its timeout at each try."""
REPEAT_POLL = timedelta(minutes=1)
READ_BALANCE_EVERY = timedelta(minutes=1)
READ_AGAIN = timedelta(days=2)
"""How much of the balance transactions is read again every hour, for those that were listed late."""
RETRY_MIN, RETRY_MAX = timedelta(seconds=5), timedelta(hours=1)
TRIES_MAX = 40
"""About a day. The payments are polled all the same."""
RETENTION = timedelta(days=40)
"""Longer than the provider sends an event again, or lets it be sent again."""


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
    attempt = await transaction_store.find(services.db, payment.env, payment.transaction_id)
    if attempt is None or attempt.status_at(now) not in OPEN:
        if page.status == "open":
            await cards.close_page(payment.reference)
        await store.schedule_poll(services.db, payment, now + POLL_INTERVAL_MIN)  # it may be paid at the last moment
        return
    interval = clock.interval_by_age(now - payment.created_at, POLLS_PER_AGE, POLL_INTERVAL_MIN, POLL_INTERVAL_MAX)
    deadline = attempt.link_expires_at - attempt.clock_offset
    await store.schedule_poll(services.db, payment, min(now + interval, deadline) if deadline > now else now + interval)


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
        by_id = {dispute.id: dispute for dispute in page}
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


async def apply_event(services: Services, cards: StripeCards, event: ProviderEvent, now: datetime) -> None:
    """Read what the event is about and apply it. Raises as `synchronize`."""
    if event.type in PAGE_TYPES:
        await synchronize(services, cards, event.object_id, now)
    elif event.type in INTENT_TYPES:
        reference = await cards.find_reference(event.object_id)
        if reference is not None:
            await synchronize(services, cards, reference, now)
    elif event.type in DISPUTE_TYPES:
        await synchronize_dispute(services, cards, event.object_id, now)


async def apply_events(services: Services) -> None:
    """Process due events. No database transaction is open during a request to the provider."""
    if not list_cards(services):
        return
    now = clock.now()
    for event in await store.lease_events(services.db, now, LEASE, BATCH_SIZE):
        cards = find_cards(services, event.rail)
        retry_at = None
        try:
            if cards is not None:
                await apply_event(services, cards, event, now)
        except (RailUnavailableError, StripeError, ApiError) as error:
            log.warning(
                "provider_event_failed", part=event.rail, event_type=event.type, attempt=event.tries, reason=str(error)
            )
            retry_at = None if event.tries >= TRIES_MAX else now + min(RETRY_MIN * 2 ** min(event.tries, 10), RETRY_MAX)
        await store.schedule_event(services.db, event, retry_at)


async def poll_payments(services: Services) -> None:
    """Poll due payments. One that cannot be read now is read again a minute later."""
    if not list_cards(services):
        return
    now = clock.now()
    for payment in await store.lease_payments(services.db, now, LEASE, BATCH_SIZE):
        cards = find_cards(services, payment.rail)
        if cards is None:
            log.error("card_rail_missing", part=payment.rail)
            continue
        try:
            await poll(services, cards, payment, now)
        except (RailUnavailableError, StripeError, ApiError) as error:
            log.warning("card_payment_not_read", part=payment.rail, reason=str(error))
            await store.schedule_poll(services.db, payment, clock.now() + REPEAT_POLL)


async def poll_all_disputes(services: Services) -> None:
    """Read the disputes of each card rail. What cannot be read now is read next time."""
    for cards in list_cards(services):
        try:
            await poll_disputes(services, cards, clock.now())
        except (RailUnavailableError, StripeError) as error:
            log.warning("disputes_not_read", part=cards.name, reason=str(error))


async def read_balance_transactions(services: Services) -> None:
    """Read what changed the balance at each provider, unless another worker has just done so, and settle what can be."""
    for cards in list_cards(services):
        now = clock.now()
        await balance_store.begin(services.db, cards.name, cards.mode, now)
        if await balance_store.claim(services.db, cards.name, cards.mode, now, READ_BALANCE_EVERY):
            await _read_balance(services, cards, balances.OVERLAP)
        await balances.settle(services, cards, clock.now())


async def read_balance_transactions_again(services: Services) -> None:
    """Read those of the last days again."""
    for cards in list_cards(services):
        await _read_balance(services, cards, READ_AGAIN)


async def _read_balance(services: Services, cards: StripeCards, overlap: timedelta) -> None:
    try:
        await balances.read_new(services, cards, clock.now(), overlap)
    except (RailUnavailableError, StripeError, InexactAmountError) as error:
        log.warning("balance_transactions_not_read", part=cards.name, reason=str(error))


async def delete_old_events(services: Services) -> None:
    """Delete events that nobody sends again."""
    await delete_in_batches(services.db, store.DELETE_OLD_EVENTS, clock.now() - RETENTION)
