"""Verified email addresses: live keys, connections and payment links need one where emails are sent."""

from tollhouse.accounts.identity import store
from tollhouse.accounts.identity.model import Person
from tollhouse.http.responses import ErrorPage
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.settings.config import Settings


class EmailUnverified(ErrorPage):
    """403: live mode with an SMTP relay, and the address is not verified. The page offers a new link."""

    code, status = "email_unverified", 403
    message = "Verify your email address first: open the link in the email we sent you, or request a new one under Security."

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
