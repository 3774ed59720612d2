"""What the worker does for mail: sends what is due, tries again what was not taken, and forgets what is old.

Without a relay nothing is sent. Then each mail is shown once in the log, with its link, and to operators.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.identity.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.kernel.limits import MAIL_KEPT_S, MAIL_LEASE_S
from tollhouse.mail import store, writing
from tollhouse.mail.model import Mail, again_after
from tollhouse.mail.writing import NoAddressError
from tollhouse.platform.log import log
from tollhouse.platform.smtp import MailDeferredError, MailRejectedError, Relay, send_mail

AT_ONCE = 10
LEASE = timedelta(seconds=MAIL_LEASE_S)
KEPT = timedelta(seconds=MAIL_KEPT_S)


async def send_due(services: Services) -> None:
    """Send what is due, as many at once as a relay bears."""
    now = clock.now()
    due = await store.take_due(services.db, now, now + LEASE, AT_ONCE)
    await asyncio.gather(*(_send(services, mail, now) for mail in due))


async def forget_mails(services: Services) -> None:
    """Mails that were sent, shown or given up long ago."""
    await forget(services.db, store.FORGET, clock.now() - KEPT)


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [(1, send_due), (3600, forget_mails)]
"""Seconds between two runs, and what is done."""


async def _send(services: Services, mail: Mail, now: datetime) -> None:
    try:
        addressed = mail if mail.letter.user_id or mail.letter.about != "reset" else await store.address(services.db, mail)
        if addressed is None:
            return
        if addressed.useful_until <= now:
            await store.give_up(services.db, addressed, "too_late", now)
        elif services.settings.smtp is None:
            await _show(services, addressed)
        else:
            await _hand_over(services, addressed, services.settings.smtp)
    except Exception as fault:  # noqa: BLE001 - one mail that cannot be written must not hold up the others
        log.error("mail failed", exc_info=fault)
        await _later(services, mail, "failed")


async def _show(services: Services, mail: Mail) -> None:
    if await store.note_shown(services.db, mail, clock.now()):
        written = writing.write(services, mail)
        log.info("mail", detail=f"To {mail.letter.recipient}: {written.subject} {written.link}".rstrip())


async def _hand_over(services: Services, mail: Mail, relay: Relay) -> None:
    try:
        await send_mail(relay, writing.message_of(services, mail))
    except NoAddressError:
        await store.give_up(services.db, mail, "no_address", clock.now())
    except MailRejectedError as error:
        log.warning("mail refused", part=mail.letter.about, error=error.error)
        await store.give_up(services.db, mail, error.error, clock.now())
    except MailDeferredError as fault:
        log.warning("mail not taken", part=mail.letter.about, error=fault.error, attempt=mail.attempts)
        await _later(services, mail, fault.error)
    else:
        await store.note_sent(services.db, mail, clock.now())


async def _later(services: Services, mail: Mail, error: str) -> None:
    wait, now = again_after(mail.attempts), clock.now()
    if wait is None or now + wait >= mail.useful_until:
        await store.give_up(services.db, mail, error, now)
    else:
        await store.try_again(services.db, mail, error, now + wait)
