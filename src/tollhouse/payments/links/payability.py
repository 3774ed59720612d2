"""Whether payment links can be paid now, and why not: by the offers of their checkout."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.links.model import PaymentLink, UnpayableReason
from tollhouse.payments.links.offers import CurrentPrices, find_unpayable_reason, load_prices
from tollhouse.platform.database.pool import Pool, Tx

Reasons = dict[UUID, UnpayableReason | None]


async def load_reason(
    db: Pool | Tx, link: PaymentLink, services: Services, now: datetime, *, is_suspended: bool = False
) -> UnpayableReason | None:
    """Why nobody can pay the link now; None if customers can."""
    return (await load_reasons(db, link.env, [link], services, now, is_suspended=is_suspended))[link.id]


async def load_reasons(
    db: Pool | Tx,
    env: MerchantEnv,
    links: Sequence[PaymentLink],
    services: Services,
    now: datetime,
    *,
    is_suspended: bool = False,
) -> Reasons:
    """Why nobody can pay each of these links now, by ID. Nothing is read for links that are not active."""
    reasons: Reasons = {link.id: "account_suspended" if is_suspended else "not_active" for link in links}
    active = [link for link in links if link.status_at(now) == "active"]
    reasons |= {link.id: "not_active" for link in links if link not in active}
    if not active or is_suspended:
        return reasons
    settings = await payment_settings.of(db, env)
    for link in active:
        reasons[link.id] = await reason_with(db, link, settings, services, now)
    return reasons


async def reason_with(
    db: Pool | Tx, link: PaymentLink, settings: PaymentSettings, services: Services, now: datetime
) -> UnpayableReason | None:
    """Why nobody can pay an active link with these settings. Reads prices only if its own currency does not do."""
    reason = find_unpayable_reason(link, settings, services.rails, services.catalogue)
    current: CurrentPrices | None = None if reason is None else await load_prices(db, link, settings, now)
    return reason if current is None else find_unpayable_reason(link, settings, services.rails, services.catalogue, current)
