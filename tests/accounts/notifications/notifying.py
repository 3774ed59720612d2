"""Notifying a merchant as an action does, and what its members see."""

from typing import Any
from uuid import UUID

from tests.cast import Actor
from tollhouse.accounts.mail.model import KINDS, NotificationEvent
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.model import OF_BOTH_MODES
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode

FAILED = NoticeFacts(amount="4.20", currency="EUR")


def env_of(actor: Actor, mode: Mode = "live") -> MerchantEnv:
    """An environment of this merchant."""
    return MerchantEnv(MerchantId(UUID(actor.merchant_id)), mode)


async def notify(
    services: Services,
    actor: Actor,
    event: NotificationEvent,
    occasion: str,
    *,
    mode: Mode = "live",
    facts: NoticeFacts = FAILED,
) -> None:
    """Notify the members of this merchant; of a new device, this person."""
    env = env_of(actor, mode)
    scope = env.merchant_id if KINDS[event] in OF_BOTH_MODES else env
    [user] = await actor.sql("SELECT id FROM users WHERE email = $1", actor.email)
    occurrence = Occurrence(scope, occasion, facts, occasion, user["id"] if event == "new_device" else None)
    await services.transact(lambda work: notify_members(work, event, occurrence), clock.now())


async def inbox(actor: Actor, **filters: Any) -> list[tuple[str, bool]]:
    """What the person sees: the event and whether it is read, newest first, without new devices."""
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    body = (await actor.dashboard("GET", f"/notifications?{query}")).ok().body
    return [(one["event"], one["read"]) for one in body["notifications"] if one["event"] != "new_device"]


async def mailed(actor: Actor) -> list[str]:
    """The notifications and daily emails to this person."""
    rows = await actor.sql(
        "SELECT m.about FROM mails m JOIN users u ON u.id = m.user_id "
        "WHERE u.email = $1 AND m.occasion IS NOT NULL AND m.about <> 'new_device' ORDER BY m.created_at, m.id",
        actor.email,
    )
    return [row["about"] for row in rows]
