"""Starts attempts to pay a link."""

from datetime import datetime
from uuid import UUID

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.catalogue.methods import Method
from tollhouse.environments.payment_settings import PaymentSettings
from tollhouse.kernel.ids import new_id
from tollhouse.payment_links import store as link_store
from tollhouse.payment_links.errors import MethodUnavailable
from tollhouse.payment_links.model import PaymentLink
from tollhouse.payment_links.offers import offers_for
from tollhouse.platform.db import Tx
from tollhouse.rails.configured import Rails
from tollhouse.rails.provider import Attempt, Instructions
from tollhouse.transactions import store as transaction_store

OPEN_ATTEMPTS_MAX = 100
"""Open attempts per link. Visitors without an account create them."""


async def start(
    link: PaymentLink, settings: PaymentSettings, method_id: str, rails: Rails, catalogue: Catalogue
) -> tuple[UUID, Method, Instructions]:
    """Get payment instructions from the method's rail; no transaction is open. Raises `MethodUnavailable`."""
    offer = next(
        (offer for offer in offers_for(link, settings, rails, catalogue) if offer.method.method_id == method_id), None
    )
    if offer is None or not offer.available:
        raise MethodUnavailable(None if offer is None else offer.unavailable_reason)
    provider = rails.find(offer.method.rail, link.env.mode)
    if provider is None:
        raise AssertionError("an available offer has a rail")
    decimals = catalogue.currencies[link.currency].decimals
    attempt = Attempt(new_id(), method_id, link.currency, link.amount_minor, decimals)
    return attempt.id, offer.method, await provider.start_payment(attempt)


async def begin(
    tx: Tx,
    shown: PaymentLink,
    attempt_id: UUID,
    method: Method,
    instructions: Instructions,
    now: datetime,
    payer_language: str,
) -> UUID | None:
    """Insert an attempt and return its id; None if the link is no longer active.

    A single-payment link has one open attempt, which all visitors share. Other links have one per visitor, up to a limit;
    above it, visitors share the newest attempt of the same method. The link is locked, so that paying, canceling and
    expiring cannot interleave.
    """
    link = await link_store.lock(tx, shown.env, shown.id)
    if link is None or link.status_at(now) != "active":
        return None
    open_ones = await transaction_store.list_newest_open(tx, link, OPEN_ATTEMPTS_MAX)
    if link.max_payments == 1 and open_ones:
        return open_ones[0][0]
    if len(open_ones) >= OPEN_ATTEMPTS_MAX:
        shared = next((one_id for one_id, method_id in open_ones if method_id == method.method_id), None)
        if shared is not None:
            return shared
    await transaction_store.insert(tx, link, attempt_id, method, instructions, now, payer_language)
    await link_store.record_attempt(tx, link, attempt_id, now)
    return attempt_id
