"""Types and errors of OAuth: applications, grants, tokens."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.spending.model import LimitView
from tollhouse.kernel import tokens
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId, Mode
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.tokens import DOCUMENT_ID_PREFIX
from tollhouse.oauth.connections_model import EndedReason
from tollhouse.platform.database.errors import OutcomeUnknown

ClientType = Literal["confidential", "public"]
"""Kind of application.

confidential: Runs on a server, which keeps a secret.
public: Runs in a browser or on a device, without a secret.
"""
ClientStatus = Literal["enabled", "paused", "revoked"]
"""State of an application.

enabled: Merchants can connect it.
paused: The owner stopped it: new connections are blocked, and earlier ones ended.
revoked: It has ended for good.
"""
GrantStatus = Literal["active", "expired", "revoked"]
"""State of a connection.

active: It gives access.
expired: It ended after 30 days.
revoked: It was ended by the merchant, the owner or the service.
"""
DEVICE_CODE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
GrantType = Literal["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]
"""How an application gets tokens.

authorization_code: A merchant comes with a browser, and is redirected back.
refresh_token: The connection is kept by refreshing its tokens.
urn:ietf:params:oauth:grant-type:device_code: A device without a browser shows a code, which the merchant enters elsewhere.
"""
DEFAULT_GRANT_TYPES = ["authorization_code", "refresh_token"]
AuthMethod = Literal["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]
"""How an application authenticates at the token endpoint, and wherever else it must.

client_secret_basic: By its secret, in the header `Authorization`.
client_secret_post: By its secret, in the body.
private_key_jwt: By a token that it has signed with its private key.
none: Not at all: it is public.
"""
SIGNED: Final = "private_key_jwt"
AUTH_METHODS: Final[dict[str, tuple[AuthMethod, ...]]] = {
    "confidential": ("client_secret_basic", "client_secret_post", "private_key_jwt"),
    "public": ("none",),
}


DOCUMENT_DIGITS = 22


def stored_id(client_id: str) -> ClientId:
    """The stored ID of an application, for the `client_id` of a request.

    One that is known by a URL has an ID that is made from it, which is no `client_id` itself.
    """
    if client_id.startswith("https://"):
        return ClientId(f"{DOCUMENT_ID_PREFIX}_{tokens.base62_of(tokens.digest(client_id), DOCUMENT_DIGITS)}")
    return ClientId("" if client_id.startswith(DOCUMENT_ID_PREFIX) else client_id)


class RegisteredClient(Struct, frozen=True):
    """The settings of an application that an authorization request is checked against."""

    client_id: ClientId
    status: ClientStatus
    redirect_uris: tuple[str, ...]
    scopes: Scopes
    auth_epoch: int
    suspended: bool
    grant_types: frozenset[str]
    device_writes_allowed: bool
    require_par: bool
    approved: bool
    """Whether an operator approved live write permissions, or it is part of this installation."""
    document_url: str | None
    """Where its document is; None for an application that is registered."""


class ClientCredentials(Struct, frozen=True):
    """What client authentication is checked against. `secret_hash` is None for a public client."""

    client_id: ClientId
    status: ClientStatus
    secret_hash: bytes | None
    suspended: bool
    auth_method: AuthMethod | None
    """None: any that fits its type but signatures."""
    dpop_bound: bool


class VerifiedClient(Struct, frozen=True):
    """An application that has authenticated; a public client only sends its id. Created only by `client_auth`."""

    client_id: ClientId
    is_public: bool
    dpop_bound: bool
    """Whether its settings demand tokens that are bound to a key."""


class LockedClient(Struct, frozen=True):
    """An application whose row is locked for a change."""

    client_id: ClientId
    name: str
    client_type: ClientType
    status: ClientStatus
    version: int
    scopes: Scopes
    suspended: bool


class ClientView(Struct, frozen=True, kw_only=True):
    """An application as its owner sees it.

    `client_secret` is only in the response that created the secret; `suspended_at` is set while an operator suspends it.
    """

    client_id: ClientId
    name: Annotated[str, example("Northwind Ledger")]
    """Name of the application, which merchants see."""
    client_type: Annotated[ClientType, example("confidential")]
    description: Annotated[str, example("Bookkeeping for small shops.")]
    """What the application does, as merchants read it."""
    website_url: str | None
    redirect_uris: Annotated[list[str], example(["https://app.example/callback"])]
    scopes: list[str]
    grant_types: Annotated[list[str], example(["authorization_code", "refresh_token"])]
    """How the application gets tokens."""
    require_par: bool
    """Whether its authorization requests must be pushed."""
    dpop_bound: bool
    """Whether its new tokens must be bound to a key (DPoP)."""
    logo_uri: str | None
    """https URL of the logo."""
    policy_uri: str | None
    """https URL of the privacy policy."""
    tos_uri: str | None
    """https URL of the terms of service."""
    connection_webhook_url: str | None
    """URL for events about connections."""
    token_endpoint_auth_method: AuthMethod | None
    """How the application must authenticate; null: by its secret in either way, or not at all if it is public."""
    jwks: dict[str, Any] | None
    """The public keys of the application, a JSON Web Key Set."""
    jwks_uri: str | None
    """URL from which the public keys are fetched."""
    version: int
    status: Annotated[ClientStatus, example("enabled")]
    """Whether merchants can connect it."""
    active_connections: Annotated[int, example(1)]
    """Number of connections that give access."""
    last_used_at: Timestamp | None
    secret_hint: str | None
    """Last characters of the client secret; null for an application without one."""
    created_at: Timestamp
    updated_at: Timestamp
    revoked_at: Timestamp | None
    suspended_at: Timestamp | UnsetType = UNSET
    """When the operator suspended the application; absent if it is not suspended."""
    approved_at: Timestamp | UnsetType = UNSET
    """When an operator approved the application for live write permissions; absent if none has."""
    verified_at: Timestamp | UnsetType = UNSET
    """When an operator verified who is behind the application; absent if none has."""
    client_secret: str | UnsetType = UNSET
    webhook_secret: Annotated[str | UnsetType, example("whsec_…")] = UNSET
    """Signing secret of events about connections; only in the response that created it."""


class ConnectionFacts(Struct, frozen=True, kw_only=True):
    """What the merchant and the owner of the application see of a grant alike."""

    grant_id: UUID
    scopes: list[str]
    mode: Mode
    livemode: bool
    status: GrantStatus
    """Whether the connection gives access."""
    created_at: Timestamp
    expires_at: Annotated[Timestamp, example("2026-12-21T09:30:00.000Z")]
    revoked_at: Timestamp | None
    ended_reason: EndedReason | None
    """Why the connection ended; null while it is active."""
    last_used_at: Timestamp | None
    limits: list[LimitView]
    """What the connection may move; a kind that is not listed is not limited."""
    recipients: list[UUID] | None
    """Saved recipients that it may withdraw to; null for all."""
    limits_expire_at: Timestamp | None
    """From when on it moves no money; null if that never ends."""
    proposals_only: bool
    """Whether it may only propose what moves money."""


class ConnectionView(ConnectionFacts, frozen=True, kw_only=True):
    """A grant as the owner of the application sees it."""

    merchant_id: UUID
    business_name: str


class ApplicationView(Struct, frozen=True):
    """An application as a connected merchant sees it."""

    name: Annotated[str, example("Northwind Ledger")]
    """Name of the application."""
    description: Annotated[str, example("Bookkeeping for small shops.")]
    """What the application does."""
    website_url: str | None
    status: Annotated[ClientStatus, example("enabled")]
    """Whether merchants can connect it."""
    verified: Annotated[bool, example(True)]
    """Whether an operator of this installation verified who is behind it."""


class GrantView(ConnectionFacts, frozen=True, kw_only=True):
    """A grant as the merchant that gave it sees it."""

    client_id: ClientId
    application: ApplicationView
    """Application that is connected."""


class InvalidClient(ApiError):
    """401: the application is unknown, revoked or suspended, or its credentials are wrong (RFC 6749 section 5.2)."""

    code, status, message = "invalid_client", 401, "Client authentication failed."
    solution = "Check `client_id` and `client_secret`. After a rotation only the new secret is accepted."

    def __init__(self, message: str | None = None, *, detail: str = "") -> None:
        challenge = 'Basic realm="tollhouse", error="invalid_client"'
        super().__init__(message, detail=detail, headers={"WWW-Authenticate": challenge})


class TooManyFailures(RateLimited):
    """429: client authentication failed too often. OAuth has its own error code for this."""

    code, message = "temporarily_unavailable", "Client authentication failed too often. Try again later."
    solution = "Check the client secret, and wait for the seconds in `Retry-After`."


class UnknownApplication(ApiError):
    """401 at the authorization endpoint. No Basic challenge: the browser would prompt the merchant for a password."""

    code, status = "invalid_client", 401
    message = "The `client_id` is unknown, or the application is paused, revoked or suspended."


class InvalidGrant(ApiError):
    """400: the code or refresh token is unknown, expired, used, revoked, of another application, or does not match."""

    code = "invalid_grant"
    message = "The code or refresh token is invalid, expired, used or revoked, or does not match the request."
    solution = "Do not repeat it. Ask the merchant to connect again."


class InvalidScope(ApiError):
    """400: a scope is unknown, not registered or not granted, or there is none besides `offline_access`."""

    code, message = "invalid_scope", "`scope` contains an unknown scope, or one that is not allowed here."
    solution = "Request scopes that the application has, with at least one besides `offline_access`."


class TokensUnknown(OutcomeUnknown):
    """503: the connection to the database was lost before it confirmed the tokens. They may have been issued."""

    message = "The outcome is unknown. Do not send the code or refresh token again. Ask the merchant to connect again."
    solution = "Do not send the code or refresh token again. Ask the merchant to connect again."


class RefreshUnknown(OutcomeUnknown):
    """503: the connection to the database was lost during a refresh with an `Idempotency-Key`, which can be repeated."""

    message = "The outcome is unknown. Repeat the request with the same Idempotency-Key within 60 seconds to get it."


class UnsupportedGrantType(ApiError):
    """400: none of the grant types."""

    code = "unsupported_grant_type"
    message = f"`grant_type` must be authorization_code, refresh_token or {DEVICE_CODE_GRANT}."
    solution = "Send `authorization_code`, `refresh_token` or the grant type of devices."


class TooManyOpen(RateLimited):
    """429, or by redirect: too many authorization requests of the application wait for an answer."""

    code, message = "temporarily_unavailable", "Too many requests of this application wait for an answer. Try again later."


class UnsupportedResponseType(ApiError):
    """400, by redirect: the response type is not `code`."""

    code, message = "unsupported_response_type", "`response_type` must be code."
    solution = "Send `response_type=code`."


class ApplicationRevoked(ApiError):
    """409: the application was revoked permanently and is read-only."""

    code, status, message = "application_revoked", 409, "This application is revoked and read-only."
    solution = "Register a new application. A revoked one never returns."


class ApplicationChanged(ApiError):
    """409: the request was based on an older version of the settings."""

    code, status = "application_changed", 409
    message = "The application has changed since you loaded it. Reload it and try again."
    solution = "Read the application again, apply your change to it, and send it with the new `version`."
