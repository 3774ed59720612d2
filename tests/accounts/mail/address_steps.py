"""Steps of a change of the address: the request, the confirmation, and time that goes by."""

from uuid import uuid4

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.mail.postbox import Received
from tests.cast import Actor

EMAIL = "/session/email"
TURN_BACK = """
    UPDATE address_changes SET requested_at = requested_at - $1::interval, expires_at = expires_at - $1::interval,
        confirmed_at = confirmed_at - $1::interval, undo_until = undo_until - $1::interval,
        undone_at = undone_at - $1::interval
"""


def fresh() -> str:
    """An address that nobody has."""
    return f"new-{uuid4().hex[:12]}@example.com"


async def last_mail(mail_worker: MailWorker, email: str, subject: str) -> Received:
    """The last email to this address about this."""
    await mail_worker.send()
    return [mail for mail in mail_worker.postbox.to(email) if mail.subject == subject][-1]


async def start(mail_worker: MailWorker, actor: Actor, email: str) -> str:
    """Request the change; the path of the link at the new address."""
    (await actor.dashboard("POST", EMAIL, {"email": email})).ok(202)
    return (await last_mail(mail_worker, email, "Confirm your new email address")).path


async def change(mail_worker: MailWorker, actor: Actor, email: str) -> str:
    """Change the address; the path of the link at the old one, which the actor keeps."""
    (await actor.form(await start(mail_worker, actor, email), {})).ok()
    return (await last_mail(mail_worker, actor.email, "Your email address was changed")).path
