"""Which emails a member gets: chosen for each kind and merchant, or ended by the link of an email without sign-in."""

from collections.abc import Mapping

from tollhouse.accounts.mail.links import Subscription
from tollhouse.accounts.mail.model import NotificationKind
from tollhouse.accounts.notifications import store
from tollhouse.accounts.notifications.digests import next_digest
from tollhouse.accounts.notifications.model import CHOOSABLE, MailChoice, PreferenceView, Role, visible_kinds
from tollhouse.http.services import Work
from tollhouse.kernel.clock import zone_of
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.platform.database.pool import Pool, Tx


async def list_choices(db: Pool | Tx, merchant_id: MerchantId, user_id: UserId, role: Role) -> list[PreferenceView]:
    """When emails of each kind are sent that a member of this role may see."""
    chosen = await store.list_preferences(db, merchant_id, user_id)
    seen = visible_kinds(role, "live")
    choices = [PreferenceView(kind, chosen.get(kind, "immediate")) for kind in CHOOSABLE if kind in seen]
    return [*choices, PreferenceView("new_device", "immediate", can_be_changed=False)]


async def choose(
    work: Work, merchant_id: MerchantId, user_id: UserId, chosen: Mapping[NotificationKind, MailChoice]
) -> None:
    """Set when emails of these kinds are sent. The first daily one is sent on the next morning."""
    await store.set_preferences(work.tx, merchant_id, user_id, dict(chosen))
    if "daily" in chosen.values():
        zone = zone_of(await store.zone_name(work.tx, merchant_id))
        await store.start_digests(work.tx, merchant_id, user_id, next_digest(work.now, zone, None), work.now)


async def unsubscribe(work: Work, subscription: Subscription) -> None:
    """End the emails of a subscription. Again, or for a person who left, it changes nothing."""
    merchant_id, user_id = MerchantId(subscription.merchant_id), UserId(subscription.user_id)
    if not await store.is_member(work.tx, merchant_id, user_id):
        return
    if subscription.topic == "digest":
        await store.end_daily(work.tx, merchant_id, user_id)
    else:
        await store.set_preferences(work.tx, merchant_id, user_id, {subscription.topic: "never"})
