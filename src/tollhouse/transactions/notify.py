"""Records events of payments and balances in the transaction of the change."""

from datetime import datetime
from typing import Any

from tollhouse.events.balances import Cause, notify_balance
from tollhouse.events.event_types import EventType
from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Services
from tollhouse.ledger.model import PostedTransaction
from tollhouse.payment_links.model import PaymentLink
from tollhouse.payment_links.views import link_view
from tollhouse.platform.db import Tx
from tollhouse.transactions.model import Chargeback, Refund, Transaction
from tollhouse.transactions.views import chargeback_view, refund_view, transaction_view


async def payment(
    tx: Tx,
    event_type: EventType,
    transaction: Transaction,
    services: Services,
    now: datetime,
    *,
    refund: Refund | None = None,
    chargeback: Chargeback | None = None,
) -> None:
    """Record an event with the current state of a transaction."""
    extra: dict[str, Any] = {} if refund is None else {"refund": refund_view(refund, transaction.env)}
    if chargeback is not None:
        extra["chargeback"] = chargeback_view(chargeback, transaction.currency)
    event = NewEvent(
        event_type,
        "transaction",
        transaction.id,
        transaction.version,
        transaction_view(transaction, now),
        transaction.webhook_url,
        extra,
    )
    await record(tx, transaction.env, event, services=services, now=now)


async def link_expired(tx: Tx, link: PaymentLink, services: Services, now: datetime) -> None:
    """Record the expiry of a link without attempts."""
    view = link_view(link, services.settings.base_url, now)
    event = NewEvent("payment.expired", "payment_link", link.id, link.version, view, link.webhook_url)
    await record(tx, link.env, event, services=services, now=now)


async def moved(
    tx: Tx, transaction: Transaction, posted: PostedTransaction, cause: Cause, services: Services, now: datetime
) -> None:
    """Record the balance change of a posting, if there is one."""
    if posted.entries:
        await notify_balance(
            tx, transaction.env, transaction.currency, posted, cause, transaction.webhook_url, services, now
        )
