"""Access tokens that were issued, and the response that has them."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from tollhouse.kernel.examples import example
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.authorization_details_model import LimitsDetail


class IssuedToken(Struct, frozen=True):
    """The scopes and expiry of an access token that was inserted."""

    scopes: Scopes
    expires_at: datetime
    limits: str | None
    """Those of the grant, as they are stored."""


class TokenResponse(Struct, frozen=True, omit_defaults=True):
    """The response to a code exchange or a refresh (RFC 6749 section 5.1). `expires_in` is in seconds."""

    access_token: Annotated[str, example("that_…")]
    """Opaque token for the resource."""
    token_type: Literal["Bearer", "DPoP"]
    """How the access token is sent.

    Bearer: In the header `Authorization: Bearer`.
    DPoP: In the header `Authorization: DPoP`, with a proof of the key that it is bound to (RFC 9449).
    """
    expires_in: Annotated[int, example(900)]
    """Remaining lifetime of the access token, in seconds."""
    scope: str
    """Scopes that were granted, separated by spaces."""
    refresh_token: Annotated[str | UnsetType, example("thrt_…")] = UNSET
    authorization_details: list[LimitsDetail] | UnsetType = UNSET
    """The limits of the connection (RFC 9396); absent without limits."""
