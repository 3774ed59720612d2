"""Starts attempts to pay a link."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.cards import payments
from tollhouse.catalogue.methods import Method
from tollhouse.chains import addresses
from tollhouse.conversions.payment_model import PricedAmount
from tollhouse.http.services import Services
from tollhouse.kernel.ids import new_id
from tollhouse.payment_links import store as link_store
from tollhouse.payment_links.errors import MethodUnavailable
from tollhouse.payment_links.model import PaymentLink
from tollhouse.payment_links.offers import LinkOffer
from tollhouse.platform.db import Pool, Tx
from tollhouse.rails.provider import Attempt, Instructions, RailUnavailableError
from tollhouse.transactions import store as transaction_store

OPEN_ATTEMPTS_MAX = 100
"""Open attempts per link. Visitors without an account create them."""


class NewAttempt(Struct, frozen=True):
    """An attempt that its rail has started. `priced` is set if it is paid in another currency than that of the link."""

    id: UUID
    method: Method
    instructions: Instructions
    priced: PricedAmount | None


async def start(
    link: PaymentLink, payee: str, offers: Sequence[LinkOffer], method_id: str, services: Services, now: datetime
) -> NewAttempt | UUID:
    """Get payment instructions from the method's rail; no transaction is open. `payee` is the merchant's name.

    Returns the ID of an open attempt instead if the visitor shares one (see `begin`): its page or address exists already.
    Raises `MethodUnavailable`.
    """
    rails, catalogue = services.rails, services.catalogue
    offer = next((offer for offer in offers if offer.method.method_id == method_id), None)
    if offer is None or not offer.available:
        raise MethodUnavailable(None if offer is None else offer.unavailable_reason)
    provider = rails.find(offer.method.rail, link.env.mode)
    if provider is None:
        raise AssertionError("an available offer has a rail")
    shared = await _find_shared(services.db, link, method_id, now)
    if shared is not None:
        return shared
    attempt_id, asset, address = new_id(), offer.method.asset, None
    if rails.gives_addresses(provider.name, link.env.mode):
        address = await addresses.take(services.db, provider.name, link.env.mode, attempt_id, now)
        if address is None:
            raise MethodUnavailable("provider_down")
    attempt = Attempt(
        attempt_id,
        method_id,
        asset,
        link.amount_minor if offer.priced is None else offer.priced.amount_minor,
        catalogue.currencies[asset].decimals,
        address,
        page_url=f"{services.settings.base_url}/pay/{link.token}?payment={attempt_id}",
        payee=payee,
        expires_at=link.expires_at - link.clock_offset,
    )
    try:
        return NewAttempt(attempt_id, offer.method, await provider.start_payment(attempt), offer.priced)
    except RailUnavailableError:
        raise MethodUnavailable("provider_down") from None


async def abandon(services: Services, link: PaymentLink, new: NewAttempt) -> None:
    """Take back the address of an attempt that did not begin."""
    if services.rails.gives_addresses(new.method.rail, link.env.mode):
        await addresses.release(services.db, new.method.rail, link.env.mode, new.id)


async def begin(tx: Tx, shown: PaymentLink, new: NewAttempt, now: datetime, payer_language: str) -> UUID | None:
    """Insert an attempt and return its id; None if the link is no longer active.

    A single-payment link has one open attempt, which all visitors share, unless its rate has expired. Other links have
    one per visitor, up to a limit; above it, visitors share the newest attempt of the same method. The link is locked, so
    that paying, canceling and expiring cannot interleave.
    """
    link = await link_store.lock(tx, shown.env, shown.id)
    if link is None or link.status_at(now) != "active":
        return None
    shared = await _find_shared(tx, link, new.method.method_id, now)
    if shared is not None:
        return shared
    await transaction_store.insert(tx, link, new.id, new.method, new.instructions, now, payer_language, new.priced)
    await link_store.record_attempt(tx, link, new.id, now)
    await payments.follow(tx, link.env, new.id, new.instructions, now)
    return new.id


async def _find_shared(db: Pool | Tx, link: PaymentLink, method_id: str, now: datetime) -> UUID | None:
    """The open attempt that another visitor who chooses this method gets, too; None if it gets one of its own."""
    open_ones = await transaction_store.list_newest_open(db, link, now, OPEN_ATTEMPTS_MAX)
    if link.max_payments == 1 and open_ones:
        return open_ones[0][0]
    if len(open_ones) < OPEN_ATTEMPTS_MAX:
        return None
    return next((one_id for one_id, one_method_id in open_ones if one_method_id == method_id), None)
