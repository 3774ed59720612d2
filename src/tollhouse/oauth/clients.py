"""What an owner does with an application. Each action is one transaction's worth.

The order of refusals is the same everywhere: a field whose value cannot be, not found, revoked, suspended, a field that
does not fit this application, changed meanwhile.
"""

from datetime import datetime

import msgspec

from tollhouse.audit import record
from tollhouse.audit.changes import Changes, changes, new_values
from tollhouse.audit.event_types import AuditEventType
from tollhouse.identity.model import ApplicationSuspended, RecentAuthenticationRequired
from tollhouse.kernel import messages, tokens
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.oauth import clients_store, connections_store, settings
from tollhouse.oauth.clients_store import NewSecret
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView, LockedClient
from tollhouse.oauth.settings import ClientSettings, Rotation, SettingsBody, StatusChange
from tollhouse.platform.db import Tx

HINT_CHARS = 4


async def register(tx: Tx, owner: MerchantId, new: ClientSettings, now: datetime) -> ClientView:
    """Make an application. The record holds the secret of a confidential one, this once."""
    registered = await register_as(tx, owner, ClientId(tokens.public_name(tokens.CLIENT_ID_PREFIX)), new, now)
    if registered is None:
        raise AssertionError("a random name is nobody else's")
    return registered


async def register_as(
    tx: Tx, owner: MerchantId, client_id: ClientId, new: ClientSettings, now: datetime
) -> ClientView | None:
    """Make an application of this name; None where there is one already, such as by a form that was posted before."""
    secret = tokens.mint(tokens.CLIENT_SECRET_PREFIX) if new.client_type == "confidential" else None
    if not await clients_store.insert(tx, owner, client_id, new, _kept(secret) if secret else None, now):
        return None
    registered = await _record(tx, owner, client_id, now)
    await _note(tx, owner, "application.registered", registered, now, changes({}, _said(registered)))
    return msgspec.structs.replace(registered, client_secret=secret) if secret else registered


async def update(
    tx: Tx, owner: MerchantId, client_id: str, body: SettingsBody, now: datetime, *, recent: bool
) -> ClientView:
    """Replace all settings. Pending requests and codes end; grants lose what is not registered any more, at once.

    Where callbacks change and the owner's authentication is not `recent`, it is `RecentAuthenticationRequired`.
    """
    held = await hold(tx, owner, client_id)
    new, version = settings.check_update(body, held.client_type)
    _refuse_stale(held, version)
    before = await _record(tx, owner, held.client_id, now)
    if not recent and {*new.redirect_uris} != {*before.redirect_uris}:
        raise RecentAuthenticationRequired
    # Nothing below this line may refuse.
    await clients_store.save(tx, owner, held, new, now)
    if held.scopes - new.scopes:
        await connections_store.narrow(tx, held.client_id, new.scopes, now)
    after = await _record(tx, owner, held.client_id, now)
    await _note(tx, owner, "application.changed", after, now, changes(_said(before), _said(after)))
    return after


async def pause_or_resume(tx: Tx, owner: MerchantId, client_id: str, change: StatusChange, now: datetime) -> ClientView:
    """Pausing ends every grant; resuming brings none of them back."""
    held = await hold(tx, owner, client_id)
    enabled, version = settings.check_flag("enabled", change.enabled, change.version)
    _refuse_stale(held, version)
    # Nothing below this line may refuse.
    await clients_store.set_status(tx, owner, held, "enabled" if enabled else "paused", now)
    if not enabled:
        await clients_store.end_all(tx, owner, held, "application_paused", now)
    after = await _record(tx, owner, held.client_id, now)
    action: AuditEventType = "application.resumed" if enabled else "application.paused"
    await _note(tx, owner, action, after, now, changes({"status": held.status}, {"status": after.status}))
    return after


async def rotate_secret(tx: Tx, owner: MerchantId, client_id: str, rotation: Rotation, now: datetime) -> ClientView:
    """Replace the secret at once. The record holds the new one, this once."""
    held = await hold(tx, owner, client_id)
    revoke_grants, version = settings.check_flag("revoke_grants", rotation.revoke_grants, rotation.version)
    if held.client_type == "public":
        raise ValidationFailed(FieldError("client_type", "no_secret", messages.CONFIDENTIAL))
    _refuse_stale(held, version)
    # Nothing below this line may refuse.
    secret = tokens.mint(tokens.CLIENT_SECRET_PREFIX)
    await clients_store.set_secret(tx, owner, held, _kept(secret), now)
    if revoke_grants:
        await clients_store.end_all(tx, owner, held, "secret_rotated", now)
    after = await _record(tx, owner, held.client_id, now)
    await _note(tx, owner, "application.secret_replaced", after, now, new_values(connections_ended=revoke_grants or None))
    return msgspec.structs.replace(after, client_secret=secret)


async def revoke(tx: Tx, owner: MerchantId, client_id: str, now: datetime) -> ClientView:
    """End the application for ever. Its record and the history of its connections stay."""
    held = await hold(tx, owner, client_id, while_suspended=True)
    # Nothing below this line may refuse.
    await clients_store.revoke(tx, owner, held, now)
    await clients_store.end_all(tx, owner, held, "application_revoked", now)
    after = await _record(tx, owner, held.client_id, now)
    await _note(tx, owner, "application.revoked", after, now)
    return after


async def hold(tx: Tx, owner: MerchantId, client_id: str, *, while_suspended: bool = False) -> LockedClient:
    """The owner's application, to be changed by nobody else meanwhile.

    Raises `NotFound`, `ApplicationRevoked`, and, but for what is done `while_suspended`, `ApplicationSuspended`.
    """
    held = await clients_store.hold(tx, owner, client_id)
    if held is None:
        raise NotFound
    if held.status == "revoked":
        raise ApplicationRevoked
    if held.suspended and not while_suspended:
        raise ApplicationSuspended
    return held


async def _note(
    tx: Tx, owner: MerchantId, action: AuditEventType, client: ClientView, now: datetime, changed: Changes | None = None
) -> None:
    await record.event(tx, owner, action, now, subject=client.client_id, name=client.name, changed=changed)


def _said(client: ClientView) -> dict[str, object]:
    """What an owner can say of an application."""
    said = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes")
    return {name: getattr(client, name) or None for name in said}


def _refuse_stale(held: LockedClient, version: int) -> None:
    if held.version != version:
        raise ApplicationChanged


async def _record(tx: Tx, owner: MerchantId, client_id: ClientId, now: datetime) -> ClientView:
    record = await clients_store.owned_one(tx, owner, client_id, now)
    if record is None:
        raise AssertionError("what this transaction wrote is there")
    return record


def _kept(secret: str) -> NewSecret:
    """What we keep of a client secret."""
    return NewSecret(tokens.digest(secret), secret[-HINT_CHARS:])
