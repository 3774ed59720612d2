"""Types of connections: why one ended."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId, Mode

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


class RevokedGrant(Struct, frozen=True):
    """A grant that was revoked in this transaction: its application and its merchant."""

    client_id: ClientId
    name: str
    merchant_id: MerchantId
    mode: Mode

    @property
    def env(self) -> MerchantEnv:
        """The environment of the grant."""
        return MerchantEnv(self.merchant_id, self.mode)
