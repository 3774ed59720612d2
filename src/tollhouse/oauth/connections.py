"""Ending connections: by the owner of the application, or by the merchant that granted them. Money is not touched."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.audit import record
from tollhouse.audit.actor import Actor
from tollhouse.audit.changes import changes, new_values
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId
from tollhouse.oauth import clients, clients_store, connections_store
from tollhouse.oauth.model import EndedGrant
from tollhouse.platform.db import Tx


class Disconnected(Struct, frozen=True):
    """How many connections this call ended; one that had ended already is not counted."""

    disconnected: int


async def disconnect_one(tx: Tx, owner: MerchantId, client_id: str, grant_id: UUID, now: datetime) -> Disconnected:
    """The owner ends one connection."""
    held = await clients.hold(tx, owner, client_id, while_suspended=True)
    ended = await connections_store.disconnect(tx, owner, held.client_id, grant_id, now)
    if ended is None:
        if not await connections_store.has_connection(tx, owner, held.client_id, grant_id):
            raise NotFound
        return Disconnected(0)
    env, about = MerchantEnv(owner, ended.mode), new_values(connection=grant_id)
    action = "application.connection_ended"
    await record.event(tx, env, action, now, subject=held.client_id, name=ended.name, changed=about)
    await note_end(tx, ended, "disconnected by owner", Actor("application", held.client_id), now)
    return Disconnected(1)


async def disconnect_all(tx: Tx, owner: MerchantId, client_id: str, now: datetime) -> Disconnected:
    """The owner ends all connections, unexchanged codes and pending requests. The application stays enabled."""
    held = await clients.hold(tx, owner, client_id, while_suspended=True)
    # Nothing below this line may refuse.
    active = await connections_store.count_active(tx, owner, held.client_id, now)
    await clients_store.end_all(tx, owner, held, "disconnected_by_owner", now)
    action, changed = "application.connections_ended", changes({"connections": active}, {"connections": 0})
    await record.event(tx, owner, action, now, subject=held.client_id, name=held.name, changed=changed)
    return Disconnected(active)


async def withdraw(tx: Tx, merchant_id: MerchantId, grant_id: UUID, now: datetime) -> Disconnected:
    """The merchant ends one of its own grants."""
    ended = await connections_store.withdraw(tx, merchant_id, grant_id, now)
    if ended is None:
        if not await connections_store.has_grant(tx, merchant_id, grant_id):
            raise NotFound
        return Disconnected(0)
    await record.event(tx, ended.env, "grant.ended", now, subject=ended.client_id, name=ended.name)
    return Disconnected(1)


async def note_end(tx: Tx, ended: EndedGrant, reason: str, by: Actor, now: datetime) -> None:
    """Tell the merchant in its log that an application gave its connection back, or lost it."""
    about = new_values(reason=reason)
    await record.event(tx, ended.env, "grant.ended", now, subject=ended.client_id, name=ended.name, changed=about, by=by)
