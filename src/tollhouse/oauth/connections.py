"""Revoking grants, by the owner of the application or by the merchant. Payments and reservations stay as they are."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes, new_values
from tollhouse.http.services import Work
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.oauth import clients, connections_store, disconnections
from tollhouse.oauth.connections_model import RevokedGrant


class DisconnectResult(Struct, frozen=True):
    """The number of connections that this request ended."""

    disconnected: Annotated[int, example(1)]
    """Number of connections that the request ended."""


async def disconnect_one(work: Work, owner: MerchantId, client_id: str, grant_id: UUID) -> DisconnectResult:
    """Disconnect one merchant, for the owner of the application."""
    client = await clients.lock(work.tx, owner, client_id, while_suspended=True)
    revoked = await connections_store.revoke_by_owner(work.tx, owner, client.client_id, grant_id, work.now)
    if revoked is None:
        if not await connections_store.has_connection(work.tx, owner, client.client_id, grant_id):
            raise NotFound
        return DisconnectResult(0)
    env, changed = MerchantEnv(owner, revoked.mode), new_values(connection=grant_id)
    action = "application.connection_ended"
    await record.event(work, env, action, subject=client.client_id, name=revoked.name, changed=changed)
    await record_revocation(work, revoked, "disconnected by owner", Actor("application", client.client_id))
    return DisconnectResult(1)


async def disconnect_all(work: Work, owner: MerchantId, client_id: str) -> DisconnectResult:
    """Disconnect all merchants, for the owner of the application. Invalidates unexchanged codes and pending requests."""
    client = await clients.lock(work.tx, owner, client_id, while_suspended=True)
    # Nothing below this line may refuse.
    active = await connections_store.count_active(work.tx, owner, client.client_id, work.now)
    await disconnections.revoke_all(work, owner, client, "disconnected_by_owner")
    action, changed = "application.connections_ended", changes({"connections": active}, {"connections": 0})
    await record.event(work, owner, action, subject=client.client_id, name=client.name, changed=changed)
    return DisconnectResult(active)


async def revoke_grant(work: Work, merchant_id: MerchantId, grant_id: UUID) -> DisconnectResult:
    """Revoke one grant, for the merchant that gave it."""
    revoked = await connections_store.revoke_by_merchant(work.tx, merchant_id, grant_id, work.now)
    if revoked is None:
        if not await connections_store.has_grant(work.tx, merchant_id, grant_id):
            raise NotFound
        return DisconnectResult(0)
    await record.event(work, revoked.env, "grant.ended", subject=revoked.client_id, name=revoked.name)
    await disconnections.send_email(work, revoked.env, revoked.name, grant_id)
    return DisconnectResult(1)


async def record_revocation(work: Work, revoked: RevokedGrant, reason: str, by: Actor | None = None) -> None:
    """Record in the merchant's audit log that its grant was revoked by an application or after a replay."""
    await record.event(
        work,
        revoked.env,
        "grant.ended",
        subject=revoked.client_id,
        name=revoked.name,
        changed=new_values(reason=reason),
        by=by,
    )
    await disconnections.send_email(work, revoked.env, revoked.name, new_id())
