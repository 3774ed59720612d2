"""Verified addresses: where mails are sent, nobody makes live keys, connections or links until one has reached them."""

from tollhouse.http.responses import ErrorPage
from tollhouse.identity import store
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.config import Settings
from tollhouse.platform.db import Pool, Tx


class EmailUnverified(ErrorPage):
    """403: live mode with a relay, and no address is verified. The page offers another link."""

    code, status = "email_unverified", 403
    message = (
        "Verify your e-mail address first, with the link that was mailed to it. Under Security, another one can be mailed."
    )

    def __init__(self) -> None:
        super().__init__("identity/email_unverified.html")


async def require_verified_email(db: Pool | Tx, settings: Settings, env: MerchantEnv, person: Person | None = None) -> None:
    """Raises `EmailUnverified` in live mode with a relay, unless the person's address is verified.

    Programs act for no person: with none, that of anybody of the merchant will do.
    """
    if settings.smtp is None or not env.livemode:
        return
    verified = person.verified if person is not None else await store.anybody_is_verified(db, env.merchant_id)
    if not verified:
        raise EmailUnverified
