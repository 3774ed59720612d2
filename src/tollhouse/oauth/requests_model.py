"""Authorization requests: as they are stored, and as the consent page shows them."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from tollhouse.accounts.spending.model import NO_LIMITS, Limits
from tollhouse.kernel.ids import ClientId, MerchantId, Mode, UserId
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import ClientStatus

Decision = Literal["allowed", "denied"]


class AuthorizationRequest(Struct, frozen=True):
    """A validated authorization request."""

    client_id: ClientId
    auth_epoch: int
    redirect_uri: str
    scopes: Scopes
    state: str
    challenge: bytes
    mode: Mode
    resource: Resource
    limits: str | None = None
    dpop_jkt: bytes | None = None
    """Thumbprint of the key that must exchange the code."""


class DeviceRequest(Struct, frozen=True):
    """A validated authorization request of a device. `address` and `agent` are those of its HTTP request."""

    id_hash: bytes
    client_id: ClientId
    auth_epoch: int
    scopes: Scopes
    mode: Mode
    resource: Resource
    device_code_hash: bytes
    user_code: str
    address: str
    agent: str
    limits: str | None = None


CONNECTION_COUNT_MAX = 1_000
"""The consent page counts active connections up to this number."""


class ConsentRequest(Struct, frozen=True, kw_only=True):
    """An authorization request with the current state of its application, for the consent page."""

    id_hash: bytes
    client_id: ClientId
    merchant_id: MerchantId
    redirect_uri: str | None
    scopes: Scopes
    state: str | None
    mode: Mode
    resource: Resource
    created_at: datetime
    expires_at: datetime
    decision: Decision | None
    settings_changed: bool
    client_status: ClientStatus
    client_suspended: bool
    name: str
    description: str
    website_url: str | None
    policy_uri: str | None
    tos_uri: str | None
    owner_name: str | None
    """None: the application is part of this installation, or known by a document."""
    owner_email: str | None
    """Support address in the owner's settings of this environment."""
    registered_at: datetime
    """When the application was registered."""
    verified: bool
    """Whether an operator verified who is behind it."""
    awaits_approval: bool
    """Whether it requests live write permissions, for which an operator must approve it first."""
    connections: int
    """Active connections of both environments, counted up to `CONNECTION_COUNT_MAX` + 1."""
    document_url: str | None = None
    """Where the document of the application is; None for one that is registered."""
    device_code_hash: bytes | None = None
    user_code: str | None = None
    device_address: str | None = None
    device_agent: str | None = None
    limits: Limits = NO_LIMITS
    """The limits that the application asks for."""

    @property
    def proposes_only(self) -> bool:
        """Whether the connection starts with proposals only, whatever the merchant chooses."""
        return self.resource == "mcp" and self.mode == "live"


class Given(Struct, frozen=True):
    """What the merchant gives to an application, and the code that is exchanged for it."""

    user_id: UserId
    scopes: Scopes
    limits: Limits
    proposals_only: bool
    code_hash: bytes
    code_expires_at: datetime
