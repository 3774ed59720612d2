"""Closes payment links: by expiry or by cancellation. Closing a link ends its pending attempts.

No state depends on the job: every reader of a link or an attempt compares its expiry with the current time.
"""

from uuid import UUID

from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import LinkNotActive, PaymentLink
from tollhouse.payments.transactions import notify, settlement, store, transfers_store, verdict
from tollhouse.payments.transactions.model import Transaction

BATCH_SIZE = 50


async def expire_due(work: Work, env: MerchantEnv, link_id: UUID) -> bool:
    """Expire a link that is due. False if it is not due or already closed."""
    link = await link_store.lock(work.tx, env, link_id)
    if link.status != "active" or link.status_at(work.now) != "expired":
        return False
    return await expire(work, link)


async def expire(work: Work, link: PaymentLink) -> bool:
    """Expire a locked link. False if it is not active.

    Pending attempts expire; partly paid ones become `refund_required`; those in `processing` continue. `payment.expired`
    is recorded only if nothing was paid and nothing awaits a decision.
    """
    if not await link_store.close_if_active(work.tx, link, "expired", work.now):
        return False
    held = link.payments_count > 0
    ended: Transaction | None = None
    for attempt in await store.list_open(work.tx, link):
        if attempt.status == "processing":
            held = True
            continue
        over = await end(work, attempt)
        held = held or over.status == "refund_required"
        ended = ended or over
    if held:
        return True
    if ended is not None:
        await notify.payment(work, "payment.expired", ended)
        return True
    await notify.link_expired(work, await link_store.get(work.tx, link.env, link.id))
    return True


async def end(work: Work, attempt: Transaction) -> Transaction:
    """End a pending attempt of a link that has ended."""
    over = await store.change(work.tx, verdict.end_unpaid(attempt), None, work.now)
    if over.status == "refund_required":
        await notify.payment(work, "payment.refund_required", over)
    return over


async def end_partly_paid(work: Work, env: MerchantEnv, transaction_id: UUID) -> bool:
    """End a partly paid attempt whose link was completed by other payments. False if there is nothing to end."""
    attempt = await store.lock(work.tx, env, transaction_id)
    if attempt.status != "pending" or attempt.received_minor == 0 or attempt.link_status == "active":
        return False
    await end(work, attempt)
    return True


async def end_stalled(work: Work, env: MerchantEnv, transaction_id: UUID) -> bool:
    """End an attempt of a closed link that waits only for transfers which no block has taken. What still arrives is late."""
    attempt = await store.lock(work.tx, env, transaction_id)
    if attempt.status != "processing" or attempt.link_status == "active":
        return False
    if attempt.link_status == "canceled":
        await settlement.fail(work, attempt, "link_canceled")
        return True
    ended = await end(work, attempt)
    link = await link_store.get(work.tx, env, attempt.payment_link_id)
    if ended.status == "expired" and attempt.link_status == "expired" and link.payments_count == 0:
        await notify.payment(work, "payment.expired", ended)
    return True


async def cancel(work: Work, env: MerchantEnv, link_id: UUID) -> PaymentLink:
    """Cancel an active link; canceling again changes nothing. Raises `NotFound` and `LinkNotActive`.

    Pending attempts fail. Those in `processing` continue, because money may be on the way.
    """
    link = await link_store.lock(work.tx, env, link_id)
    if link.status == "canceled":
        return link
    effective_status = link.status_at(work.now)
    if effective_status != "active" or not await link_store.close_if_active(work.tx, link, "canceled", work.now):
        raise LinkNotActive(effective_status)
    # Nothing below this line may refuse.
    for attempt in await store.list_open(work.tx, link):
        if attempt.status == "pending":
            await settlement.fail(work, attempt, "link_canceled")
    return await link_store.get(work.tx, env, link_id)


async def close_links(services: Services) -> None:
    """Expire links that are due, and end attempts of closed links that are partly paid or wait for what no block takes."""
    now = clock.now()
    for env, link_id in await link_store.list_due(services.db, now, BATCH_SIZE):
        await services.transact(lambda work, env=env, link_id=link_id: expire_due(work, env, link_id), now)
    stalled = await transfers_store.list_stalled(services.db, services.rails.block_limits, now, BATCH_SIZE)
    for env, attempt_id in stalled:
        await services.transact(lambda work, env=env, attempt_id=attempt_id: end_stalled(work, env, attempt_id), now)
    for env, attempt_id in await store.list_partly_paid(services.db, BATCH_SIZE):
        await services.transact(lambda work, env=env, attempt_id=attempt_id: end_partly_paid(work, env, attempt_id), now)
