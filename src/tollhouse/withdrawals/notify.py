"""The events of withdrawals, recorded in the transaction of the action."""

from tollhouse.events.balances import Cause, notify_balance
from tollhouse.events.event_types import EventType
from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Work
from tollhouse.ledger.model import LedgerTransaction
from tollhouse.withdrawals.model import Withdrawal
from tollhouse.withdrawals.views import withdrawal_view

SOURCE = "withdrawal"


async def status_changed(work: Work, event_type: EventType, withdrawal: Withdrawal) -> None:
    """Record the event of a new status."""
    view = withdrawal_view(withdrawal, work.services.catalogue)
    event = NewEvent(event_type, SOURCE, withdrawal.id, withdrawal.version, view, withdrawal.webhook_url)
    await record(work, withdrawal.env, event)


async def balance_changed(work: Work, withdrawal: Withdrawal, posted: LedgerTransaction) -> None:
    """Record the event of a balance that a ledger transaction of this withdrawal changed."""
    cause = Cause(SOURCE, withdrawal.id, withdrawal.status, withdrawal.version)
    await notify_balance(work, withdrawal.env, withdrawal.currency, posted, cause, withdrawal.webhook_url)
