"""The events of withdrawals, recorded in the transaction of the action."""

from tollhouse.accounts.identity import emails
from tollhouse.accounts.mail.model import mail_name
from tollhouse.http.local_formats import Formats
from tollhouse.http.services import Work
from tollhouse.ledger.books.model import LedgerTransaction
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.withdrawals.masking import mask
from tollhouse.transfers.withdrawals.model import Withdrawal
from tollhouse.transfers.withdrawals.views import withdrawal_view
from tollhouse.webhooks.events.record import EventSource, EventType, record

SOURCE = "withdrawal"


async def status_changed(work: Work, event_type: EventType, withdrawal: Withdrawal) -> None:
    """Record the event of a new status."""
    source = EventSource(SOURCE, withdrawal.id, withdrawal.version)
    data = {"object": withdrawal_view(withdrawal, work.services.catalogue)}
    await record(work, withdrawal.env, event_type, source, data, withdrawal.webhook_url)
    if event_type in {"withdrawal.completed", "withdrawal.failed"}:
        await _send_email(work, withdrawal)


async def _send_email(work: Work, withdrawal: Withdrawal) -> None:
    """Each way in which a withdrawal ends leads here, in the transaction that ends it."""
    rejected = withdrawal.failure_code == "review_rejected"
    kind = "withdrawal_completed" if withdrawal.status == "completed" else "withdrawal_rejected" if rejected else None
    method = work.services.catalogue.withdrawal_methods.get(withdrawal.method_id)
    account = withdrawal.receiver if method is None else mask(withdrawal.receiver, method.receiver_type)

    def facts(formats: Formats) -> dict[str, str]:
        amount = work.services.catalogue.format_amount(withdrawal.amount_minor, withdrawal.currency)
        return {
            "amount": formats.money(amount, withdrawal.currency),
            "account": mail_name(account),
            "reason": mail_name(withdrawal.review_note or "") if rejected else "",
            "path": f"/live/withdrawals/{withdrawal.id}",
        }

    await emails.notify(work, withdrawal.env, kind or "withdrawal_failed", withdrawal.id, facts)


async def balance_changed(work: Work, withdrawal: Withdrawal, posted: LedgerTransaction) -> None:
    """Record the event of a balance that a ledger transaction of this withdrawal changed."""
    cause = Cause(SOURCE, withdrawal.id, withdrawal.status, withdrawal.version)
    await notify_balance(work, withdrawal.env, withdrawal.currency, posted, cause, withdrawal.webhook_url)
