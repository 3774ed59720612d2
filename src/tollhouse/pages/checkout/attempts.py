"""Starts attempts to pay a link."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.http.services import Services
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Attempt, Instructions, RailUnavailableError
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import CheckoutPrice, MethodUnavailable, PaymentLink
from tollhouse.payments.links.offers import LinkOffer
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log import changed_objects
from tollhouse.rails.cards import payments
from tollhouse.rails.chains import store as address_store
from tollhouse.transfers.conversions.model import PricedAmount

OPEN_ATTEMPTS_MAX = 100
"""Open attempts per link. Visitors without an account create them."""
CHOSEN_ATTEMPTS_SPAN = timedelta(hours=1)
"""Where customers choose the price, attempts cannot be shared by all: at most so many are started within this time."""


class NewAttempt(Struct, frozen=True):
    """An attempt at a price that its rail has started. `priced` is set if it is paid in another currency than the link's."""

    id: UUID
    method: Method
    price: CheckoutPrice
    instructions: Instructions
    priced: PricedAmount | None


class Choice(Struct, frozen=True):
    """What the customer has chosen: the price of the link, the offers for it, and one of their methods."""

    price: CheckoutPrice
    offers: Sequence[LinkOffer]
    method_id: str


async def start(link: PaymentLink, payee: str, choice: Choice, services: Services, now: datetime) -> NewAttempt | UUID:
    """Get payment instructions from the method's rail; no transaction is open. `payee` is the merchant's name.

    Returns the ID of an open attempt instead if the visitor shares one (see `begin`): its page or address exists already.
    Raises `MethodUnavailable`.
    """
    rails, catalogue = services.rails, services.catalogue
    price, offers, method_id = choice.price, choice.offers, choice.method_id
    offer = next((offer for offer in offers if offer.method.method_id == method_id), None)
    if offer is None or not offer.available:
        raise MethodUnavailable(None if offer is None else offer.unavailable_reason)
    provider = rails.find(offer.method.rail, link.env.mode)
    if provider is None:
        raise AssertionError("an available offer has a rail")
    shared = await _find_shared(services.db, link, method_id, price, now)
    if shared is not None:
        return shared
    attempt_id, asset, address = new_id(), offer.method.asset, None
    if rails.gives_addresses(provider.name, link.env.mode):
        address = await address_store.take_address(services.db, provider.name, link.env.mode, attempt_id, now)
        if address is None:
            raise MethodUnavailable("provider_down")
    attempt = Attempt(
        attempt_id,
        method_id,
        asset,
        price.amount_minor if offer.priced is None else offer.priced.amount_minor,
        catalogue.currencies[asset].decimals,
        address,
        page_url=f"{services.settings.base_url}/pay/{link.token}?payment={attempt_id}",
        payee=payee,
        expires_at=link.expires_at - link.clock_offset,
    )
    try:
        return NewAttempt(attempt_id, offer.method, price, await provider.start_payment(attempt), offer.priced)
    except RailUnavailableError:
        raise MethodUnavailable("provider_down") from None


async def abandon(services: Services, link: PaymentLink, new: NewAttempt) -> None:
    """Take back the address of an attempt that did not begin."""
    if services.rails.gives_addresses(new.method.rail, link.env.mode):
        await address_store.release_address(services.db, new.method.rail, link.env.mode, new.id)


async def begin(tx: Tx, shown: PaymentLink, new: NewAttempt, now: datetime, payer_language: str) -> UUID | None:
    """Insert an attempt and return its id; None if the link is no longer active.

    A single-payment link has one open attempt, which all visitors share, unless its rate has expired. Other links have
    one per visitor, up to a limit; above it, visitors share the newest attempt of the same method. If customers choose the
    price, only attempts of the same price are shared, and those of a single-payment link for which money has been seen. The
    link is locked, so that paying, canceling and expiring cannot interleave.

    Raises `RateLimited` if too many attempts of other prices were started within `CHOSEN_ATTEMPTS_SPAN`.
    """
    link = await link_store.lock(tx, shown.env, shown.id)
    if link.status_at(now) != "active":
        return None
    shared = await _find_shared(tx, link, new.method.method_id, new.price, now)
    if shared is not None:
        return shared
    await transaction_store.insert(
        tx, link, new.id, new.method, new.instructions, new.price, now, payer_language, new.priced
    )
    await link_store.record_attempt(tx, link, new.id, now)
    changed_objects.note(new.id)
    changed_objects.note(link.id)
    await payments.follow(tx, link.env, new.id, new.instructions, now)
    return new.id


async def _find_shared(db: Pool | Tx, link: PaymentLink, method_id: str, price: CheckoutPrice, now: datetime) -> UUID | None:
    """The open attempt that a visitor who chooses this gets instead of one of its own, if any. Raises `RateLimited`."""
    open_ones = await transaction_store.list_newest_open(db, link, now, OPEN_ATTEMPTS_MAX)
    is_single, is_full = link.max_payments == 1, len(open_ones) >= OPEN_ATTEMPTS_MAX
    if not link.is_price_chosen:
        shared = (attempt.id for attempt in open_ones if is_single or (is_full and attempt.method_id == method_id))
        return next(shared, None)
    for attempt in open_ones:
        is_same = (attempt.method_id, attempt.price) == (method_id, price)
        if (is_single and attempt.is_paid_in_part) or ((is_single or is_full) and is_same):
            return attempt.id
    if is_full:
        _require_room(open_ones[-1].created_at, now)
    return None


def _require_room(oldest_at: datetime, now: datetime) -> None:
    """Raise `RateLimited` if the oldest of as many attempts as can be open was started within `CHOSEN_ATTEMPTS_SPAN`."""
    wait = oldest_at + CHOSEN_ATTEMPTS_SPAN - now
    if wait > timedelta():
        raise RateLimited(wait)
