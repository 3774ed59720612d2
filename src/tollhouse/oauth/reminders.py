"""Emails to merchants that a connection will expire, in time to renew it."""

from datetime import timedelta

from tollhouse.accounts.identity import emails
from tollhouse.accounts.mail.model import mail_name
from tollhouse.http.local_formats import Formats
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
            name, day = mail_name(connection.name), stamp(connection.expires_at)
            path = f"/settings/connected-apps/{connection.grant_id}#renew"

            def facts(formats: Formats, name: str = name, day: str = day, path: str = path) -> dict[str, str]:
                return {"name": name, "day": formats.long_day(day), "path": path}

            await emails.notify(work, connection.env, "application_expiring", connection.grant_id, facts)
        return len(expiring)

    while await services.transact(action, now) == BATCH_SIZE:
        pass
