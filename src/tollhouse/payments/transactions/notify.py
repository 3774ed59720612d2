"""Records events of payments and balances in the transaction of the change."""

from typing import Any

from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Work
from tollhouse.ledger.books.model import LedgerTransaction
from tollhouse.payments.links.model import PaymentLink
from tollhouse.payments.links.views import link_view
from tollhouse.payments.transactions.model import Chargeback, Refund, Transaction
from tollhouse.payments.transactions.views import chargeback_view, refund_view, transaction_view
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.webhooks.events.record import EventSource, EventType, record


async def payment(
    work: Work,
    event_type: EventType,
    transaction: Transaction,
    *,
    refund: Refund | None = None,
    chargeback: Chargeback | None = None,
) -> None:
    """Record an event with the current state of a transaction. The members are notified of one that needs a decision."""
    data: dict[str, Any] = {"object": transaction_view(transaction, work.now, work.services.catalogue)}
    if refund is not None:
        data["refund"] = refund_view(refund, transaction.env, work.services.catalogue)
    if chargeback is not None:
        data["chargeback"] = chargeback_view(chargeback, transaction.currency, work.services.catalogue)
    source = EventSource("transaction", transaction.id, transaction.version)
    await record(work, transaction.env, event_type, source, data, transaction.webhook_url)
    if event_type == "payment.refund_required":
        amount = work.services.catalogue.format_amount(transaction.unapplied_minor, transaction.currency)
        facts = NoticeFacts(amount=amount, currency=transaction.currency)
        occasion = f"{transaction.id} {transaction.version}"
        waiting = Occurrence(transaction.env, occasion, facts, transaction.id)
        await notify_members(work, "payment_needs_decision", waiting)


async def link_expired(work: Work, link: PaymentLink) -> None:
    """Record the expiry of a link without attempts."""
    view = link_view(link, work.services.settings.base_url, work.now, work.services.catalogue)
    source = EventSource("payment_link", link.id, link.version)
    await record(work, link.env, "payment.expired", source, {"object": view}, link.webhook_url)


async def moved(work: Work, transaction: Transaction, posted: LedgerTransaction, cause: Cause) -> None:
    """Record the balance change of a posting, if there is one."""
    await notify_balance(work, transaction.env, transaction.currency, posted, cause, transaction.webhook_url)
