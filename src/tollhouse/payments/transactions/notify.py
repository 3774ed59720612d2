"""Records events of payments and balances in the transaction of the change."""

from typing import Any

from tollhouse.http.services import Work
from tollhouse.ledger.books.model import LedgerTransaction
from tollhouse.payments.links.model import PaymentLink
from tollhouse.payments.links.views import link_view
from tollhouse.payments.transactions.model import Chargeback, Refund, Transaction
from tollhouse.payments.transactions.views import chargeback_view, refund_view, transaction_view
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.webhooks.events.event_types import EventType
from tollhouse.webhooks.events.record import NewEvent, record


async def payment(
    work: Work,
    event_type: EventType,
    transaction: Transaction,
    *,
    refund: Refund | None = None,
    chargeback: Chargeback | None = None,
) -> None:
    """Record an event with the current state of a transaction."""
    extra: dict[str, Any] = (
        {} if refund is None else {"refund": refund_view(refund, transaction.env, work.services.catalogue)}
    )
    if chargeback is not None:
        extra["chargeback"] = chargeback_view(chargeback, transaction.currency, work.services.catalogue)
    event = NewEvent(
        event_type,
        "transaction",
        transaction.id,
        transaction.version,
        transaction_view(transaction, work.now, work.services.catalogue),
        transaction.webhook_url,
        extra,
    )
    await record(work, transaction.env, event)


async def link_expired(work: Work, link: PaymentLink) -> None:
    """Record the expiry of a link without attempts."""
    view = link_view(link, work.services.settings.base_url, work.now, work.services.catalogue)
    event = NewEvent("payment.expired", "payment_link", link.id, link.version, view, link.webhook_url)
    await record(work, link.env, event)


async def moved(work: Work, transaction: Transaction, posted: LedgerTransaction, cause: Cause) -> None:
    """Record the balance change of a posting, if there is one."""
    await notify_balance(work, transaction.env, transaction.currency, posted, cause, transaction.webhook_url)
