"""The verification of email addresses by link, and what requires it.

In live mode with an SMTP relay, live keys, connections and payment links need a verified address.
"""

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity import store, users_store
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.passwords import count_request
from tollhouse.accounts.mail import links
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.links import LinkOwner, MailLinkExpired
from tollhouse.accounts.mail.model import Email
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import ErrorPage
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.settings.config import Settings


async def send_link(request: Request, person: Person) -> None:
    """Send a new verification link, unless the address is verified. Raises `RateLimited`."""
    if person.verified:
        return
    await count_request(request, "verify", str(person.user_id))
    async with request.services.db.transaction() as tx:
        await outbox.enqueue(tx, Email("verify", person.email, language_of(request), person.user_id), request.now)


async def find_owner(request: Request, secret: str) -> LinkOwner:
    """The user of a verification link that is active or has verified the address. Raises `MailLinkExpired`."""
    owner = await links.find_owner(request, "verify", secret)
    if not owner.active and not owner.verified:
        raise MailLinkExpired
    return owner


async def verify(request: Request, secret: str) -> str:
    """Verify the address and return it; verified already, it is returned too. Raises `MailLinkExpired`."""
    owner = await links.find_owner(request, "verify", secret)
    if owner.verified:
        return owner.email

    async def action(work: Work) -> bool:
        if await outbox.use_link(work.tx, "verify", owner.mail_id, request.now) != owner.user_id:
            return False
        await users_store.verify_email(work.tx, owner.user_id, request.now)
        by = request.actor_of("person", owner.user_id)
        await record.event_of_user(work, owner.user_id, "address.verified", by)
        return True

    if not await request.transact(action) and not (await links.find_owner(request, "verify", secret)).verified:
        raise MailLinkExpired
    return owner.email


class EmailUnverified(ErrorPage):
    """403: live mode with an SMTP relay, and the address is not verified. The page offers a new link."""

    code, status = "email_unverified", 403
    message = "Verify your email address first: open the link in the email we sent you, or request a new one under Security."
    solution = "Open the link in the email, or request a new one under Security, then repeat the request."

    def __init__(self) -> None:
        super().__init__("identity/email_unverified.html")


async def require_verified_email(db: Pool | Tx, settings: Settings, env: MerchantEnv, person: Person | None = None) -> None:
    """Raises `EmailUnverified` in live mode with an SMTP relay, unless the user's address is verified.

    For an API credential there is no user: any verified user of the merchant suffices.
    """
    if settings.smtp is None or not env.livemode:
        return
    verified = person.verified if person is not None else await store.has_verified_user(db, env.merchant_id)
    if not verified:
        raise EmailUnverified
