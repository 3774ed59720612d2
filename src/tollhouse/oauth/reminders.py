"""Emails to merchants that a connection will expire, in time to renew it."""

from datetime import timedelta

from tollhouse.accounts.mail.model import mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.limits import EXPIRY_REMINDER_S
from tollhouse.oauth import reminders_store

BATCH_SIZE = 100


async def send_expiring(services: Services) -> None:
    """Remind merchants of live connections that expire within seven days: each connection once, with its emails."""
    now = clock.now()
    until = now + timedelta(seconds=EXPIRY_REMINDER_S)

    async def action(work: Work) -> int:
        expiring = await reminders_store.claim_expiring(work.tx, work.now, until, BATCH_SIZE)
        for connection in expiring:
            facts = NoticeFacts(name=mail_name(connection.name), day=stamp(connection.expires_at))
            reminder = Occurrence(connection.env, connection.grant_id, facts, connection.grant_id)
            await notify_members(work, "application_expiring", reminder)
        return len(expiring)

    while await services.transact(action, now) == BATCH_SIZE:
        pass
