"""Events about connections, for the owners of applications: recorded with the change, and delivered as all events.

They belong to the application: in the tables of webhooks, its `webhook_sender_id` stands where a merchant does. So no
merchant sees them among its events, in its feed or at its addresses, and they have a signing secret of their own.
"""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from tollhouse.accounts.spending.model import read_limits
from tollhouse.http.services import Work
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.packed_json import pack_value
from tollhouse.platform.database.wakeups import wakeups
from tollhouse.platform.settings.config import Settings
from tollhouse.webhooks.events import environments_store, secrets, store
from tollhouse.webhooks.events.destination import check_destination_url, destination_key
from tollhouse.webhooks.events.record import HELD_FOR, payload

AT_ONCE = 1_000
ConnectionEventType = Literal["connection.ended", "connection.changed"]


async def announce(
    work: Work, event_type: ConnectionEventType, connections: Sequence[ChangedConnection], reason: str
) -> None:
    """Record an event for each connection whose application has an address for them, with its delivery."""
    rows = [row for connection in connections if (row := _row(work, event_type, connection, reason)) is not None]
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        work.tx.on_release = wakeups(work.services.settings.data_dir).send
        await work.tx.execute(
            store.RECORD_OF_CONNECTIONS, event_type, *zip(*some, strict=True), work.now, HELD_FOR, work.actor.request_id
        )


async def replace_secret(work: Work, sender_id: UUID) -> str:
    """Create the signing secret of an application, for both environments, in place of the one before."""
    secret = secrets.random_secret()
    for env in _environments(sender_id):
        await secrets.lock(work.tx, env)
        await secrets.replace(work.tx, env, work.services.keys, work.now, secret=secret)
    return secret


async def turn(work: Work, sender_id: UUID, *, on: bool) -> None:
    """Turn the delivery of an application's events on or off. Off, what waits is canceled."""
    for env in _environments(sender_id):
        await secrets.lock(work.tx, env)
        if on:
            await work.tx.execute(environments_store.ENABLE_DELIVERY, env.merchant_id, env.mode)
        else:
            await work.tx.execute(environments_store.DISABLE_DELIVERY, env.merchant_id, env.mode, work.now)
            await store.cancel_pending(work.tx, env)


def url_error(url: str, settings: Settings) -> Translatable | None:
    """Why events cannot be sent to this address; None if they can. Only its text is checked here."""
    return check_destination_url(url, livemode=False, settings=settings)


def _environments(sender_id: UUID) -> tuple[MerchantEnv, MerchantEnv]:
    return MerchantEnv(MerchantId(sender_id), "live"), MerchantEnv(MerchantId(sender_id), "test")


def _row(
    work: Work, event_type: ConnectionEventType, connection: ChangedConnection, reason: str
) -> tuple[object, ...] | None:
    url = connection.webhook_url
    if url is None or connection.webhook_sender_id is None:
        return None
    sender, event_id = MerchantEnv(MerchantId(connection.webhook_sender_id), connection.mode), new_id()
    sequence = connection.version + (event_type == "connection.ended")
    facts: dict[str, Any] = {
        "grant_id": connection.grant_id,
        "client_id": connection.client_id,
        "merchant_id": connection.merchant_id,
        "mode": connection.mode,
        "livemode": connection.mode == "live",
        "scopes": Scopes(connection.scope_mask).names(),
        "proposals_only": connection.proposals_only,
        **read_limits(connection.limits).members(work.services.catalogue, "limits_expire_at"),
        "reason": reason,
    }
    body = pack_value(payload(event_id, sender, event_type, sequence, {"object": facts}, work.now))
    key = destination_key(sender, url)
    return event_id, sender.merchant_id, sender.mode, connection.grant_id, sequence, body, url, key
