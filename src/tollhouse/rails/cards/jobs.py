"""The background jobs of card payments: process the provider's events, and poll for those that were lost."""

from datetime import timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import RailUnavailableError
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.log.events import log
from tollhouse.rails.cards import balance_store, balances, payments, store
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import StripeError
from tollhouse.rails.cards.stripe.objects import InexactAmountError

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


async def apply_events(services: Services) -> None:
    """Process due events. No database transaction is open during a request to the provider."""
    if not payments.list_cards(services):
        return
    now = clock.now()
    for event in await store.lease_events(services.db, now, LEASE, BATCH_SIZE):
        cards = payments.find_cards(services, event.rail)
        retry_at = None
        try:
            if cards is not None:
                await payments.apply_event(services, cards, event, now)
        except (RailUnavailableError, StripeError, ApiError) as error:
            log.warning(
                "provider_event_failed", part=event.rail, event_type=event.type, attempt=event.tries, reason=str(error)
            )
            retry_at = None if event.tries >= TRIES_MAX else now + min(RETRY_MIN * 2 ** min(event.tries, 10), RETRY_MAX)
        await store.schedule_event(services.db, event, retry_at)


async def poll_payments(services: Services) -> None:
    """Poll due payments. One that cannot be read now is read again a minute later."""
    if not payments.list_cards(services):
        return
    now = clock.now()
    for payment in await store.lease_payments(services.db, now, LEASE, BATCH_SIZE):
        cards = payments.find_cards(services, payment.rail)
        if cards is None:
            log.error("card_rail_missing", part=payment.rail)
            continue
        try:
            await payments.poll(services, cards, payment, now)
        except (RailUnavailableError, StripeError, ApiError) as error:
            log.warning("card_payment_not_read", part=payment.rail, reason=str(error))
            await store.schedule_poll(services.db, payment, clock.now() + REPEAT_POLL)


async def poll_disputes(services: Services) -> None:
    """Read the disputes of each card rail. What cannot be read now is read next time."""
    for cards in payments.list_cards(services):
        try:
            await payments.poll_disputes(services, cards, clock.now())
        except (RailUnavailableError, StripeError) as error:
            log.warning("disputes_not_read", part=cards.name, reason=str(error))


async def read_balance_transactions(services: Services) -> None:
    """Read what changed the balance at each provider, unless another worker has just done so, and settle what can be."""
    for cards in payments.list_cards(services):
        now = clock.now()
        await balance_store.begin(services.db, cards.name, cards.mode, now)
        if await balance_store.claim(services.db, cards.name, cards.mode, now, READ_BALANCE_EVERY):
            await _read_balance(services, cards, balances.OVERLAP)
        await balances.settle(services, cards, clock.now())


async def read_balance_transactions_again(services: Services) -> None:
    """Read those of the last days again."""
    for cards in payments.list_cards(services):
        await _read_balance(services, cards, READ_AGAIN)


async def _read_balance(services: Services, cards: StripeCards, overlap: timedelta) -> None:
    try:
        await balances.read_new(services, cards, clock.now(), overlap)
    except (RailUnavailableError, StripeError, InexactAmountError) as error:
        log.warning("balance_transactions_not_read", part=cards.name, reason=str(error))


async def delete_old_events(services: Services) -> None:
    """Delete events that nobody sends again."""
    await delete_in_batches(services.db, store.DELETE_OLD_EVENTS, clock.now() - RETENTION)
