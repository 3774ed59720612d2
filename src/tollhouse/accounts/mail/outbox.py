"""The outbox: emails are enqueued in the transaction of the action that they report."""

from datetime import datetime

from tollhouse.accounts.mail import store
from tollhouse.accounts.mail.model import Email
from tollhouse.platform.database.pool import Tx


async def enqueue(tx: Tx, email: Email, now: datetime) -> None:
    """Enqueue an email. It is sent after this transaction commits."""
    await store.insert(tx, [email], now)


async def enqueue_all(tx: Tx, emails: list[Email], now: datetime) -> None:
    """Enqueue emails in one statement."""
    await store.insert(tx, emails, now)
