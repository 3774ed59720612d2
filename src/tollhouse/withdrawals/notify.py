"""Telling the merchant: events of withdrawals, recorded in the transaction of the deed."""

from datetime import datetime
from typing import Literal

from tollhouse.events.balances import Cause, notify_balance
from tollhouse.events.record import NewEvent, record
from tollhouse.http.services import Services
from tollhouse.ledger.model import PostedTransaction
from tollhouse.platform.db import Tx
from tollhouse.withdrawals.model import Withdrawal
from tollhouse.withdrawals.views import withdrawal_view

SOURCE = "withdrawal"
Told = Literal["withdrawal.processing", "withdrawal.completed", "withdrawal.failed"]


async def state(tx: Tx, event_type: Told, withdrawal: Withdrawal, services: Services, now: datetime) -> None:
    """Record the state that a withdrawal came into."""
    view = withdrawal_view(withdrawal)
    event = NewEvent(event_type, SOURCE, withdrawal.id, withdrawal.version, view, withdrawal.webhook_url)
    await record(tx, withdrawal.env, event, services=services, now=now)


async def moved(tx: Tx, withdrawal: Withdrawal, posted: PostedTransaction, services: Services, now: datetime) -> None:
    """Record what a posting of this withdrawal did to the balance."""
    cause = Cause(SOURCE, withdrawal.id, withdrawal.status, withdrawal.version)
    await notify_balance(tx, withdrawal.env, withdrawal.currency, posted, cause, withdrawal.webhook_url, services, now)
