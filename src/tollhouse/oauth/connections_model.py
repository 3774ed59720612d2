"""Types of connections: why one ended, and what of one can be changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from tollhouse.accounts.spending.model import LimitRequest, Limits, limits_errors, to_limits
from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages, scopes
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example

EndedReason = Literal[
    "merchant",
    "owner",
    "revoke_endpoint",
    "expired",
    "refresh_replayed",
    "code_replayed",
    "secret_rotated",
    "paused",
    "revoked",
    "no_scopes",
    "operator",
    "merchant_closed",
]
"""Why a connection ended.

merchant: The merchant disconnected the application.
owner: The owner of the application disconnected the merchant.
revoke_endpoint: The application revoked a token.
expired: Its time was over.
refresh_replayed: A refresh token that was replaced before was used again.
code_replayed: An authorization code was used twice.
secret_rotated: The owner rotated the client secret, and ended every connection.
paused: The owner paused the application.
revoked: The owner revoked the application.
no_scopes: The owner removed every permission that the merchant had granted.
operator: An operator of this installation ended it.
merchant_closed: The merchant's account was closed.
"""

ENDED_REASONS: Mapping[str, EndedReason] = {
    "disconnected_by_merchant": "merchant",
    "password_reset": "merchant",
    "stopped_by_merchant": "merchant",
    "address_undone": "merchant",
    "disconnected_by_owner": "owner",
    "revoked_by_application": "revoke_endpoint",
    "refresh_token_replayed": "refresh_replayed",
    "code_replayed": "code_replayed",
    "secret_rotated": "secret_rotated",
    "application_paused": "paused",
    "application_revoked": "revoked",
    "scopes_removed": "no_scopes",
    "ended_by_operator": "operator",
    "merchant_closed": "merchant_closed",
}
"""The reasons of the API, by the reason that is stored with a revoked grant or cutoff."""


class GrantChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What changes of a connection. Members that are left out stay as they are."""

    scopes: Annotated[list[str], example(["payments:read", "offline_access"])] | UnsetType = UNSET
    """The permissions that the connection keeps: some of those it has, at least one besides `offline_access`."""

    limits: list[LimitRequest] | UnsetType = UNSET
    """What it may move; a kind that is not listed is not limited."""
    recipients: list[UUID] | UnsetType | None = UNSET
    """Saved recipients that it may withdraw to; null for all."""
    limits_expire_at: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET
    """From when on it moves no money; null if that never ends."""
    proposals_only: bool | UnsetType = UNSET
    """Whether it may only propose what moves money."""

    def rule_errors(self, context: ValidationContext) -> list[FieldError]:
        """The errors of every invalid field."""
        requests = [] if isinstance(self.limits, UnsetType) else self.limits
        recipients = None if isinstance(self.recipients, UnsetType) else self.recipients
        return [*self._scope_errors(), *limits_errors(requests, recipients, context.catalogue)]

    def limits_after(self, before: Limits, catalogue: Catalogue) -> Limits:
        """The limits that the connection gets."""
        recipients, expires_at = self.recipients, self.limits_expire_at
        if isinstance(recipients, list):
            recipients = tuple(dict.fromkeys(recipients))
        return Limits(
            limits=before.limits if isinstance(self.limits, UnsetType) else to_limits(self.limits, catalogue),
            recipients=before.recipients if isinstance(recipients, UnsetType) else recipients,
            expires_at=before.expires_at if isinstance(expires_at, UnsetType) else expires_at,
        )

    def _scope_errors(self) -> list[FieldError]:
        if isinstance(self.scopes, UnsetType):
            return []
        unknown = [index for index, name in enumerate(self.scopes) if name not in scopes.ALL]
        if not unknown and not scopes.known(self.scopes).has_api:
            return [FieldError("scopes", "api_scope_required", messages.AN_API_SCOPE)]
        return [FieldError(f"scopes.{index}", "unknown_scope", messages.A_SCOPE) for index in unknown]


class ConnectionEnded(ApiError):
    """409: the connection has ended and cannot be changed."""

    code, status, message = "connection_ended", 409, "This connection has ended and cannot be changed."
    solution = "Connect again from the application, with the permissions that you want."
