"""The events of withdrawals, recorded in the transaction of the action."""

from datetime import datetime

from tollhouse.events.balances import Cause, notify_balance
from tollhouse.events.event_types import EventType
from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Services
from tollhouse.ledger.model import PostedTransaction
from tollhouse.platform.db import Tx
from tollhouse.withdrawals.model import Withdrawal
from tollhouse.withdrawals.views import withdrawal_view

SOURCE = "withdrawal"


async def status_changed(tx: Tx, event_type: EventType, withdrawal: Withdrawal, services: Services, now: datetime) -> None:
    """Record the event of a new status."""
    view = withdrawal_view(withdrawal)
    event = NewEvent(event_type, SOURCE, withdrawal.id, withdrawal.version, view, withdrawal.webhook_url)
    await record(tx, withdrawal.env, event, services=services, now=now)


async def balance_changed(
    tx: Tx, withdrawal: Withdrawal, posted: PostedTransaction, services: Services, now: datetime
) -> None:
    """Record the event of a balance that a ledger transaction of this withdrawal changed."""
    cause = Cause(SOURCE, withdrawal.id, withdrawal.status, withdrawal.version)
    await notify_balance(tx, withdrawal.env, withdrawal.currency, posted, cause, withdrawal.webhook_url, services, now)
