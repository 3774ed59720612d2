"""Closes payment links: by expiry or by cancellation. Closing a link ends its pending attempts."""

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
    """Expire a link that is due. False if it is not due or already closed."""
    link = await link_store.lock(tx, env, link_id)
    if link is None or link.status != "active" or link.status_at(now) != "expired":
        return False
    return await expire(tx, link, services, now)


async def expire(tx: Tx, link: PaymentLink, services: Services, now: datetime) -> bool:
    """Expire a locked link. False if it is not active.

    Pending attempts expire; partly paid ones become `refund_required`; those in `processing` continue. `payment.expired`
    is recorded only if nothing was paid and nothing awaits a decision.
    """
    if not await link_store.close_if_active(tx, link.env, link.id, "expired", now):
        return False
    held = link.payments_count > 0
    ended: Transaction | None = None
    for attempt in await store.list_open(tx, link):
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
    closed = await link_store.get(tx, link.env, link.id)
    if closed is None:
        raise AssertionError("links are never deleted")
    await notify.link_expired(tx, closed, services, now)
    return True


async def end(tx: Tx, attempt: Transaction, services: Services, now: datetime) -> Transaction:
    """End a pending attempt of a link that has ended."""
    over = await settlement.change(tx, verdict.end_unpaid(attempt), None, now)
    if over.status == "refund_required":
        await notify.payment(tx, "payment.refund_required", over, services, now)
    return over


async def end_partly_paid(tx: Tx, env: MerchantEnv, transaction_id: UUID, services: Services, now: datetime) -> bool:
    """End a partly paid attempt whose link was completed by other payments. False if there is nothing to end."""
    attempt = await settlement.lock(tx, env, transaction_id)
    if attempt.status != "pending" or attempt.received_minor == 0 or attempt.link_status == "active":
        return False
    await end(tx, attempt, services, now)
    return True


async def cancel(tx: Tx, env: MerchantEnv, link_id: UUID, services: Services, now: datetime) -> PaymentLink:
    """Cancel an active link; canceling again changes nothing. Raises `NotFound` and `LinkNotActive`.

    Pending attempts fail. Those in `processing` continue, because money may be on the way.
    """
    link = await link_store.lock(tx, env, link_id)
    if link is None:
        raise NotFound
    if link.status == "canceled":
        return link
    effective_status = link.status_at(now)
    if effective_status != "active" or not await link_store.close_if_active(tx, env, link_id, "canceled", now):
        raise LinkNotActive(effective_status)
    # Nothing below this line may refuse.
    for attempt in await store.list_open(tx, link):
        if attempt.status == "pending":
            await settlement.fail(tx, attempt, "link_canceled", services, now)
    canceled = await link_store.get(tx, env, link_id)
    if canceled is None:
        raise AssertionError("links are never deleted")
    return canceled
