"""What this package registers: the jobs that send due emails, retry deferred ones and delete old ones.

Without an SMTP relay each email is written to the log once, with its link, and shown to operators.
"""

import asyncio
from datetime import datetime, timedelta

from tollhouse.accounts.mail import rendering, store
from tollhouse.accounts.mail.model import QueuedEmail, retry_delay
from tollhouse.accounts.mail.rendering import NoAddressError
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.kernel.limits import MAIL_KEPT_S, MAIL_LEASE_S
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.log.events import log
from tollhouse.platform.smtp import MailDeferredError, MailRejectedError, Relay, send_mail

CONCURRENCY = 10
LEASE = timedelta(seconds=MAIL_LEASE_S)
RETENTION = timedelta(seconds=MAIL_KEPT_S)


async def send_due(services: Services) -> None:
    """Send the emails that are due, up to `CONCURRENCY` at once."""
    now = clock.now()
    due = await store.lease_due(services.db, now, now + LEASE, CONCURRENCY)
    await asyncio.gather(*(_send(services, queued, now) for queued in due))


async def delete_emails(services: Services) -> None:
    """Delete emails that were finished long ago."""
    await delete_in_batches(services.db, store.DELETE_OLD, clock.now() - RETENTION)


async def _send(services: Services, queued: QueuedEmail, now: datetime) -> None:
    try:
        is_addressed = queued.email.user_id is not None or queued.email.kind != "reset"
        addressed = queued if is_addressed else await store.set_recipient(services.db, queued, now)
        if addressed is None:
            return
        if addressed.useful_until <= now:
            await store.give_up(services.db, addressed, "too_late", now)
        elif services.settings.smtp is None:
            await _log(services, addressed)
        else:
            await _hand_over(services, addressed, services.settings.smtp)
    except Exception as error:  # noqa: BLE001 - an email that cannot be rendered must not stop the others
        log.error("mail_failed", exc_info=error)
        await _retry(services, queued, "failed")


async def _log(services: Services, queued: QueuedEmail) -> None:
    if await store.record_shown(services.db, queued, clock.now()):
        rendered = rendering.render(services, queued)
        log.info("mail_logged", detail=f"To {queued.email.recipient}: {rendered.subject} {rendered.link}".rstrip())


async def _hand_over(services: Services, queued: QueuedEmail, relay: Relay) -> None:
    try:
        await send_mail(relay, rendering.mime_message(services, queued))
    except NoAddressError:
        await store.give_up(services.db, queued, "no_address", clock.now())
    except MailRejectedError as error:
        log.warning("mail_refused", part=queued.email.kind, error=error.error)
        await store.give_up(services.db, queued, error.error, clock.now())
    except MailDeferredError as error:
        log.warning("mail_deferred", part=queued.email.kind, error=error.error, attempt=queued.attempts)
        await _retry(services, queued, error.error)
    else:
        await store.record_sent(services.db, queued, clock.now())


async def _retry(services: Services, queued: QueuedEmail, error: str) -> None:
    delay, now = retry_delay(queued.attempts), clock.now()
    if delay is None or now + delay >= queued.useful_until:
        await store.give_up(services.db, queued, error, now)
    else:
        await store.schedule_retry(services.db, queued, error, now + delay)


SLICE = Slice(jobs=(Job(1, send_due), Job(HOURLY_S, delete_emails)))
