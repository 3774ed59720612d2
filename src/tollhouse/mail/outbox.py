"""The outbox: emails are enqueued in the transaction of the action that they report."""

from datetime import datetime

from tollhouse.kernel.ids import new_id
from tollhouse.mail import store
from tollhouse.mail.model import Email, lifetime_of
from tollhouse.platform.db import Tx


async def enqueue(tx: Tx, email: Email, now: datetime) -> None:
    """Enqueue an email. It is sent after this transaction commits."""
    await store.insert(tx, new_id(), email, now, now + lifetime_of(email.kind))
