"""Revoking grants, by the owner of the application or by the merchant. Payments and reservations stay as they are."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct, UnsetType

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes, new_values
from tollhouse.accounts.identity.model import Person, RecentAuthenticationRequired
from tollhouse.accounts.spending import limits
from tollhouse.accounts.spending.limits import LimitsOwner
from tollhouse.http.services import Work
from tollhouse.kernel import messages, scopes
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import clients, connections_store, disconnections
from tollhouse.oauth.connections_model import ConnectionEnded, EndedReason, GrantChange
from tollhouse.oauth.model import GrantView


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
    await record_revocation(work, revoked, "disconnected by owner", "owner", Actor("application", client.client_id))
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
    await disconnections.announce(work, [revoked], "merchant")
    return DisconnectResult(1)


async def change_grant(work: Work, person: Person, grant_id: UUID, change: GrantChange, *, recent: bool) -> GrantView:
    """Change one active grant, for the merchant that gave it. Access tokens that exist lose removed scopes immediately.

    Raises `NotFound`, `ConnectionEnded`, `ValidationFailed`, and if the grant may move more than before, `RoleForbidden` for
    a role that could not give it, and `RecentAuthenticationRequired` in live mode if the authentication is not `recent`.
    """
    merchant_id = person.merchant_id
    grant = await connections_store.lock_active(work.tx, merchant_id, grant_id, work.now)
    if grant is None:
        raise ConnectionEnded if await connections_store.has_grant(work.tx, merchant_id, grant_id) else NotFound
    only_before = grant.proposals_only
    granted = Scopes(grant.scope_mask)
    names = granted.names() if isinstance(change.scopes, UnsetType) else change.scopes
    if more := [index for index, name in enumerate(names) if name not in granted]:
        raise ValidationFailed(*(FieldError(f"scopes.{index}", "not_granted", messages.A_GRANTED_SCOPE) for index in more))
    only = only_before if isinstance(change.proposals_only, UnsetType) else change.proposals_only
    # Who spends within limits waits for this, or this for it.
    owner = LimitsOwner(grant.env, grant_id, is_key=False, name=grant.name)
    before = await limits.lock(work, owner)
    new = change.limits_after(before, work.services.catalogue)
    if new.raises(before) or (only_before and not only):
        person.require_scopes(granted, grant.mode)
        if grant.mode == "live" and not recent:
            raise RecentAuthenticationRequired
    await limits.replace(work, owner, new)
    # Nothing below this line may refuse.
    kept = scopes.known(names)
    if granted - kept or only != only_before:
        old, now = (
            {"scopes": granted.names(), "proposals_only": only_before},
            {"scopes": kept.names(), "proposals_only": only},
        )
        await record.event(
            work, grant.env, "grant.changed", subject=grant.client_id, name=grant.name, changed=changes(old, now)
        )
    if granted - kept or only != only_before or new != before:
        changed = await connections_store.change(work.tx, grant, kept, proposals_only=only)
        await work.services.connection_webhooks.announce(work, "connection.changed", [changed], "merchant")
    found = await connections_store.find_grant(work.tx, merchant_id, grant_id, work.now, work.services.catalogue)
    if found is None:
        raise AssertionError("a locked grant does not exist")
    return found.grant


async def record_revocation(
    work: Work, revoked: ChangedConnection, reason: str, ended_reason: EndedReason, by: Actor | None = None
) -> None:
    """Record in the merchant's audit log that its grant was revoked by an application or after a replay, and announce it."""
    await record.event(
        work,
        revoked.env,
        "grant.ended",
        subject=revoked.client_id,
        name=revoked.name,
        changed=new_values(reason=reason),
        by=by,
    )
    await disconnections.announce(work, [revoked], ended_reason)
