"""The end of a link's time: told once, however many saw the clock strike."""

from datetime import datetime
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.payment_links import store as link_store
from tollhouse.payment_links.errors import LinkNotActive
from tollhouse.payment_links.model import PaymentLink
from tollhouse.platform.db import Tx
from tollhouse.transactions import notify, settlement, store, verdict
from tollhouse.transactions.model import Transaction


async def expire_due(tx: Tx, env: MerchantEnv, link_id: UUID, services: Services, now: datetime) -> bool:
    """Close a link whose time is over; False where somebody else did, or its time is not over."""
    link = await link_store.lock(tx, env, link_id)
    if link is None or link.status != "active" or link.status_at(now) != "expired":
        return False
    return await expire(tx, link, services, now)


async def expire(tx: Tx, link: PaymentLink, services: Services, now: datetime) -> bool:
    """Close a locked, active link; False where it is not active.

    Attempts that are pending end with it: expired, or up to the merchant where part of the money is there. One that is
    processing is left to finish. The merchant is told of the expiry only where nobody has paid and no money is held.
    """
    if not await link_store.end_if_active(tx, link.env, link.id, "expired", now):
        return False
    held = link.payments_count > 0
    ended: Transaction | None = None
    for attempt in await store.open_of(tx, link):
        if attempt.status == "processing":
            held = True
            continue
        over = await end(tx, attempt, services, now)
        held = held or over.status == "refund_required"
        ended = ended or over
    if held:
        return True
    if ended is not None:
        await notify.payment(tx, "payment.expired", ended, services, now)
        return True
    closed = await link_store.one(tx, link.env, link.id)
    if closed is None:
        raise AssertionError("links are never deleted")
    await notify.link_expired(tx, closed, services, now)
    return True


async def end(tx: Tx, attempt: Transaction, services: Services, now: datetime) -> Transaction:
    """End a pending attempt whose link has ended."""
    over = await settlement.change(tx, verdict.end_unpaid(attempt), None, now)
    if over.status == "refund_required":
        await notify.payment(tx, "payment.refund_required", over, services, now)
    return over


async def end_stranded(tx: Tx, env: MerchantEnv, transaction_id: UUID, services: Services, now: datetime) -> bool:
    """End a partly paid attempt whose link was completed by others; False where there is nothing to end."""
    attempt = await settlement.lock(tx, env, transaction_id)
    if attempt.status != "pending" or attempt.received_minor == 0 or attempt.link_status == "active":
        return False
    await end(tx, attempt, services, now)
    return True


async def cancel(tx: Tx, env: MerchantEnv, link_id: UUID, services: Services, now: datetime) -> PaymentLink:
    """Close an active link; one that is canceled stays as it is. Raises `NotFound` and `LinkNotActive`.

    A pending attempt fails with it. One in `processing` is left to finish: its money may be on the way.
    """
    link = await link_store.lock(tx, env, link_id)
    if link is None:
        raise NotFound
    if link.status == "canceled":
        return link
    standing = link.status_at(now)
    if standing != "active" or not await link_store.end_if_active(tx, env, link_id, "canceled", now):
        raise LinkNotActive(standing)
    # Nothing below this line may refuse.
    for attempt in await store.open_of(tx, link):
        if attempt.status == "pending":
            await settlement.fail(tx, attempt, "link_canceled", services, now)
    canceled = await link_store.one(tx, env, link_id)
    if canceled is None:
        raise AssertionError("links are never deleted")
    return canceled
