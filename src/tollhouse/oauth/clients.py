"""Actions of an application's owner, each in one transaction.

Errors come in this order: invalid fields, not found, revoked, suspended, fields that this application cannot have,
changed since.
"""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import Changes, changes, new_values
from tollhouse.accounts.identity.model import ApplicationSuspended, Person, RecentAuthenticationRequired
from tollhouse.http.services import Work
from tollhouse.kernel import messages, tokens
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import ClientId, MerchantId, new_id
from tollhouse.oauth import clients_store, connections_store, disconnections, protocol_settings, settings
from tollhouse.oauth.clients_store import NewSecret
from tollhouse.oauth.model import (
    DEFAULT_GRANT_TYPES,
    SIGNED,
    ApplicationChanged,
    ApplicationRevoked,
    AuthMethod,
    ClientView,
    LockedClient,
)
from tollhouse.oauth.settings import ClientSettings, ClientStatusChange, SecretRotation, SettingsBody, WebhookSecretRotation
from tollhouse.platform.database.pool import Tx

HINT_CHARS = 4


async def register(work: Work, person: Person, new: ClientSettings) -> ClientView:
    """Register an application. Only this response contains the secret of a confidential one."""
    registered = await register_with_id(work, person, ClientId(tokens.public_name(tokens.CLIENT_ID_PREFIX)), new)
    if registered is None:
        raise AssertionError("a random client id exists already")
    return registered


async def register_with_id(work: Work, person: Person, client_id: ClientId, new: ClientSettings) -> ClientView | None:
    """Register an application with this id; None if it exists, for example because the form was submitted twice.

    Raises `RoleForbidden` if the role may not give its scopes in live mode.
    """
    owner = person.merchant_id
    person.require_scopes(new.scopes, "live")
    settings.require_refreshes(new.scopes, new.grant_types or DEFAULT_GRANT_TYPES)
    require_reachable(work, new.connection_webhook_url)
    protocol_settings.require_consistent(new.client_type, *_keys_of(new), work.services.settings)
    no_secret = _no_secret(new)
    secret = tokens.mint(tokens.CLIENT_SECRET_PREFIX) if new.client_type == "confidential" and no_secret is None else None
    stored = _hash_and_hint(secret) if secret else no_secret
    if not await clients_store.insert(work.tx, owner, client_id, new, stored, person.user_id, work.now):
        return None
    webhook_secret = await _set_webhook(work, owner, client_id, None, new.connection_webhook_url)
    registered = await _get(work.tx, owner, client_id, work.now)
    await _record_event(work, owner, "application.registered", registered, changes({}, _settings_of(registered)))
    return msgspec.structs.replace(registered, client_secret=secret or UNSET, webhook_secret=webhook_secret)


async def update(work: Work, person: Person, client_id: str, body: SettingsBody, *, recent: bool) -> ClientView:
    """Replace all settings. Invalidates pending requests and codes; grants lose removed scopes immediately.

    Raises `RoleForbidden` if the role may not give the scopes, before or after, and `RecentAuthenticationRequired` if
    redirect URIs, keys or the URL for events change and the authentication is not `recent`.
    """
    owner = person.merchant_id
    client = await lock(work.tx, owner, client_id)
    new, version = settings.check_update(body, client.client_type)
    person.require_scopes(client.scopes | new.scopes, "live")
    _require_version(client, version)
    before = await _get(work.tx, owner, client.client_id, work.now)
    kept = settings.keep_unset(new, before)
    sends_elsewhere = (
        isinstance(new.connection_webhook_url, str) and new.connection_webhook_url != before.connection_webhook_url
    )
    is_sensitive = {*new.redirect_uris} != {*before.redirect_uris} or _keys_of(kept) != _keys_of(before) or sends_elsewhere
    if is_sensitive and not recent:
        raise RecentAuthenticationRequired
    settings.require_refreshes(new.scopes, new.grant_types or before.grant_types)
    require_reachable(work, new.connection_webhook_url)
    protocol_settings.require_consistent(client.client_type, *_keys_of(kept), work.services.settings)
    # Nothing below this line may refuse.
    await clients_store.update(work.tx, owner, client, kept, _no_secret(kept), work.now)
    webhook_secret = await _set_webhook(
        work, owner, client.client_id, before.connection_webhook_url, new.connection_webhook_url
    )
    if client.scopes - new.scopes:
        ended, changed = await connections_store.restrict_scopes(work.tx, client.client_id, new.scopes, work.now)
        await disconnections.announce(work, ended, "no_scopes")
        await work.services.connection_webhooks.announce(work, "connection.changed", changed, "owner")
    after = await _get(work.tx, owner, client.client_id, work.now)
    await _record_event(work, owner, "application.changed", after, changes(_settings_of(before), _settings_of(after)))
    return msgspec.structs.replace(after, webhook_secret=webhook_secret)


async def pause_or_resume(work: Work, owner: MerchantId, client_id: str, change: ClientStatusChange) -> ClientView:
    """Pause, which revokes every grant, or resume, which restores none of them."""
    client = await lock(work.tx, owner, client_id)
    enabled, version = settings.check_flag("enabled", change.enabled, change.version)
    _require_version(client, version)
    # Nothing below this line may refuse.
    await clients_store.set_status(work.tx, owner, client, "enabled" if enabled else "paused", work.now)
    if not enabled:
        await disconnections.revoke_all(work, owner, client, "application_paused")
    after = await _get(work.tx, owner, client.client_id, work.now)
    action: AuditEventType = "application.resumed" if enabled else "application.paused"
    await _record_event(work, owner, action, after, changes({"status": client.status}, {"status": after.status}))
    return after


async def rotate_secret(work: Work, person: Person, client_id: str, rotation: SecretRotation) -> ClientView:
    """Replace the secret immediately. Only this response contains the new one. Raises `RoleForbidden` as `update` does."""
    owner = person.merchant_id
    client = await lock(work.tx, owner, client_id)
    person.require_scopes(client.scopes, "live")
    revoke_grants, version = settings.check_flag("revoke_grants", rotation.revoke_grants, rotation.version)
    if client.client_type == "public":
        raise ValidationFailed(FieldError("client_type", "no_secret", messages.CONFIDENTIAL))
    _require_version(client, version)
    before = await _get(work.tx, owner, client.client_id, work.now)
    if before.token_endpoint_auth_method == SIGNED:
        raise ValidationFailed(FieldError("token_endpoint_auth_method", "no_secret", messages.ROTATION_OF_KEYS))
    # Nothing below this line may refuse.
    secret = tokens.mint(tokens.CLIENT_SECRET_PREFIX)
    await clients_store.set_secret(work.tx, owner, client, _hash_and_hint(secret), work.now)
    if revoke_grants:
        await disconnections.revoke_all(work, owner, client, "secret_rotated")
    after = await _get(work.tx, owner, client.client_id, work.now)
    await _record_event(
        work, owner, "application.secret_replaced", after, new_values(connections_ended=revoke_grants or None)
    )
    return msgspec.structs.replace(after, client_secret=secret)


async def rotate_webhook_secret(
    work: Work, owner: MerchantId, client_id: str, rotation: WebhookSecretRotation
) -> ClientView:
    """Replace the signing secret of events about connections immediately. Only this response contains the new one."""
    client = await lock(work.tx, owner, client_id)
    _require_version(client, settings.check_version(rotation.version))
    sender = await clients_store.rotate_webhook_secret(work.tx, owner, client, work.now)
    if sender is None:
        raise ValidationFailed(FieldError("connection_webhook_url", "missing", messages.REQUIRED))
    # Nothing below this line may refuse.
    secret = await work.services.connection_webhooks.replace_secret(work, sender)
    after = await _get(work.tx, owner, client.client_id, work.now)
    await _record_event(work, owner, "application.webhook_secret_replaced", after)
    return msgspec.structs.replace(after, webhook_secret=secret)


def require_reachable(work: Work, url: str | UnsetType | None) -> None:
    """Raises `ValidationFailed` if events about connections cannot be sent to this address."""
    error = work.services.connection_webhooks.url_error(url, work.services.settings) if isinstance(url, str) else None
    if error is not None:
        raise ValidationFailed(FieldError("connection_webhook_url", "invalid_url", error))


async def _set_webhook(
    work: Work, owner: MerchantId, client_id: ClientId, before: str | None, url: str | UnsetType | None
) -> str | UnsetType:
    """Set the address for events about connections. Returns the signing secret of the first one."""
    if isinstance(url, UnsetType) or url == before:
        return UNSET
    new_sender = new_id()
    sender = await clients_store.set_webhook(work.tx, owner, client_id, url, new_sender)
    if sender is None:
        return UNSET
    await work.services.connection_webhooks.turn(work, sender, on=url is not None)
    return await work.services.connection_webhooks.replace_secret(work, sender) if sender == new_sender else UNSET


async def revoke(work: Work, owner: MerchantId, client_id: str) -> ClientView:
    """Revoke the application permanently. Its settings and the history of its connections stay readable."""
    client = await lock(work.tx, owner, client_id, while_suspended=True)
    # Nothing below this line may refuse.
    await clients_store.revoke(work.tx, owner, client, work.now)
    await disconnections.revoke_all(work, owner, client, "application_revoked")
    after = await _get(work.tx, owner, client.client_id, work.now)
    await _record_event(work, owner, "application.revoked", after)
    return after


async def close_owner(work: Work, owner: MerchantId) -> None:
    """Revoke every application of a merchant that is closed."""
    for client_id in await clients_store.list_to_revoke(work.tx, owner):
        await revoke(work, owner, client_id)


async def lock(tx: Tx, owner: MerchantId, client_id: str, *, while_suspended: bool = False) -> LockedClient:
    """Lock an application of this owner.

    Raises `NotFound`, `ApplicationRevoked` and, unless `while_suspended`, `ApplicationSuspended`.
    """
    client = await clients_store.lock(tx, owner, client_id)
    if client is None:
        raise NotFound
    if client.status == "revoked":
        raise ApplicationRevoked
    if client.suspended and not while_suspended:
        raise ApplicationSuspended
    return client


async def _record_event(
    work: Work, owner: MerchantId, action: AuditEventType, client: ClientView, changed: Changes | None = None
) -> None:
    await record.event(work, owner, action, subject=client.client_id, name=client.name, changed=changed)


def _settings_of(client: ClientView) -> dict[str, object]:
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes", "grant_types", *settings.KEPT)
    return {name: getattr(client, name) or None for name in names}


def _require_version(client: LockedClient, version: int) -> None:
    if client.version != version:
        raise ApplicationChanged


async def _get(tx: Tx, owner: MerchantId, client_id: ClientId, now: datetime) -> ClientView:
    client = await clients_store.find_owned(tx, owner, client_id, now)
    if client is None:
        raise AssertionError("an application of this transaction does not exist")
    return client


def _keys_of(client: ClientSettings | ClientView) -> tuple[AuthMethod | None, dict[str, Any] | None, str | None]:
    """How an application authenticates, its keys, and their URL."""
    return client.token_endpoint_auth_method or None, client.jwks or None, client.jwks_uri or None


def _no_secret(new: ClientSettings) -> NewSecret | None:
    """The digest of a secret that nobody has, for an application that authenticates by signatures."""
    is_signed = new.token_endpoint_auth_method == SIGNED
    return NewSecret(tokens.digest(tokens.mint(tokens.CLIENT_SECRET_PREFIX)), None) if is_signed else None


def _hash_and_hint(secret: str) -> NewSecret:
    return NewSecret(tokens.digest(secret), secret[-HINT_CHARS:])
