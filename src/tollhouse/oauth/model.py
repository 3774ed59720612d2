"""What OAuth is made of: applications, authorization requests, what a token holder may do, and how a request is refused."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from tollhouse.identity.throttle import RateLimited
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.kernel.scopes import Scopes

ClientType = Literal["confidential", "public"]
ClientStatus = Literal["enabled", "paused", "revoked"]
GrantStatus = Literal["active", "expired", "revoked"]
Decision = Literal["allowed", "denied"]


class RegisteredClient(Struct, frozen=True):
    """An application, as far as an authorization request is measured against it."""

    client_id: ClientId
    status: ClientStatus
    redirect_uris: tuple[str, ...]
    scopes: Scopes
    auth_epoch: int
    suspended: bool


class ClientSecret(Struct, frozen=True):
    """An application, as far as its authentication goes. A public one has no secret."""

    client_id: ClientId
    status: ClientStatus
    secret_hash: bytes | None
    suspended: bool


class VerifiedClient(Struct, frozen=True):
    """An application that has proved who it is (a public one: that has said so). Only `client_auth` makes one."""

    client_id: ClientId


class LockedClient(Struct, frozen=True):
    """An application that its owner is about to change."""

    client_id: ClientId
    name: str
    client_type: ClientType
    status: ClientStatus
    version: int
    scopes: Scopes
    suspended: bool


class ClientView(Struct, frozen=True, kw_only=True):
    """The record of an application as its owner sees it.

    `client_secret` is in the answer that made the secret, only; `suspended_at` is there while an operator has suspended it.
    """

    client_id: ClientId
    name: str
    client_type: ClientType
    description: str
    website_url: str | None
    redirect_uris: list[str]
    scopes: list[str]
    version: int
    status: ClientStatus
    active_connections: int
    last_used_at: Timestamp | None
    secret_hint: str | None
    created_at: Timestamp
    updated_at: Timestamp
    revoked_at: Timestamp | None
    suspended_at: Timestamp | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class ConnectionView(Struct, frozen=True, kw_only=True):
    """A merchant's connection, as the owner of the application sees it."""

    grant_id: UUID
    merchant_id: UUID
    business_name: str
    scopes: list[str]
    mode: Mode
    livemode: bool
    status: GrantStatus
    created_at: Timestamp
    expires_at: Timestamp
    revoked_at: Timestamp | None
    last_used_at: Timestamp | None


class ApplicationView(Struct, frozen=True):
    """An application, as a merchant that it is connected to sees it."""

    name: str
    description: str
    website_url: str | None
    status: ClientStatus


class GrantView(Struct, frozen=True, kw_only=True):
    """A connection, as the merchant that granted it sees it."""

    grant_id: UUID
    client_id: ClientId
    application: ApplicationView
    scopes: list[str]
    mode: Mode
    livemode: bool
    status: GrantStatus
    created_at: Timestamp
    expires_at: Timestamp
    revoked_at: Timestamp | None
    last_used_at: Timestamp | None


class EndedGrant(Struct, frozen=True):
    """A connection that has just been ended: of which application it was, and whose."""

    client_id: ClientId
    name: str
    merchant_id: MerchantId
    mode: Mode

    @property
    def env(self) -> MerchantEnv:
        """The environment it was given for."""
        return MerchantEnv(self.merchant_id, self.mode)


class AuthorizationRequest(Struct, frozen=True):
    """What an application asks for, with everything checked."""

    client_id: ClientId
    auth_epoch: int
    redirect_uri: str
    scopes: Scopes
    state: str
    challenge: bytes
    mode: Mode


CONNECTIONS_COUNTED = 1_000


class ConsentRequest(Struct, frozen=True, kw_only=True):
    """An authorization request in front of the merchant who is to answer it, beside what its application is now."""

    id_hash: bytes
    client_id: ClientId
    merchant_id: MerchantId
    redirect_uri: str
    scopes: Scopes
    state: str
    mode: Mode
    expires_at: datetime
    decision: Decision | None
    settings_changed: bool
    client_status: ClientStatus
    client_suspended: bool
    name: str
    description: str
    website_url: str | None
    owner_name: str
    registered_at: datetime
    """When the application was registered."""
    connections: int
    """Its connections that are active, over both environments; counted no further than one over `CONNECTIONS_COUNTED`."""


class Issued(Struct, frozen=True):
    """An access token that the database has taken: what it may do and when it ends."""

    scopes: Scopes
    expires_at: datetime


class TokenResponse(Struct, frozen=True, omit_defaults=True):
    """The answer to an exchange or a refresh (RFC 6749 section 5.1). `expires_in` is in seconds."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str
    refresh_token: str | UnsetType = UNSET


class InvalidClient(ApiError):
    """401: the application is unknown, revoked or suspended, or fails to authenticate (RFC 6749 section 5.2)."""

    code, status, message = "invalid_client", 401, "Client authentication failed."

    def __init__(self, message: str | None = None, *, detail: str = "") -> None:
        challenge = 'Basic realm="tollhouse", error="invalid_client"'
        super().__init__(message, detail=detail, headers={"WWW-Authenticate": challenge})


class TooManyFailures(RateLimited):
    """429: client authentication failed too often of late. The protocol has a word of its own for it."""

    code, message = "temporarily_unavailable", "Client authentication failed too often. Try again later."


class UnknownApplication(ApiError):
    """401 at the authorize endpoint. No Basic challenge: the browser would ask the merchant for a password."""

    code, status, message = "invalid_client", 401, "There is no such application, or it takes no new connections."


class InvalidGrant(ApiError):
    """400: the code or refresh token is unknown, expired, used, revoked, another application's, or its proof is wrong."""

    code, message = "invalid_grant", "The code or refresh token is unknown, expired, used or revoked, or does not match."


class InvalidScope(ApiError):
    """400: a scope is unknown, beyond what is registered or granted, or no API permission is left."""

    code, message = "invalid_scope", "The scope is unknown or goes beyond what may be asked for here."


class UnsupportedGrantType(ApiError):
    """400: neither authorization_code nor refresh_token."""

    code, message = "unsupported_grant_type", "Supported are authorization_code and refresh_token."


class UnsupportedResponseType(ApiError):
    """400, by redirect: anything but `code`."""

    code, message = "unsupported_response_type", "The response type must be code."


class ApplicationRevoked(ApiError):
    """409: the registration was revoked for ever; it can only be read."""

    code, status, message = "application_revoked", 409, "This application is revoked and can only be read."


class ApplicationChanged(ApiError):
    """409: the form was made from an older version of the settings."""

    code, status, message = "application_changed", 409, "The application was changed meanwhile. Load it again."
