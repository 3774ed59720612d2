"""The parameters of an authorization request and their rules: the same wherever it is made.

The authorization endpoint shows errors of the first rules to the browser, and redirects those of the others.
"""

import unicodedata
from collections.abc import Callable
from typing import cast

from msgspec import Struct

from tollhouse.accounts.spending.model import Limits
from tollhouse.http.forms import Form
from tollhouse.kernel import scopes
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.ids import ClientId, Mode
from tollhouse.kernel.limits import STATE_CHARS_MAX
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import authorization_details_model, client_auth, redirect_uris, resources
from tollhouse.oauth.model import InvalidScope, RegisteredClient, UnknownApplication, UnsupportedResponseType
from tollhouse.oauth.requests_model import AuthorizationRequest

SINGLE_PARAMETERS = (
    "response_type",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "mode",
    "authorization_details",
    "dpop_jkt",
)


class SentParameters(Struct, frozen=True):
    """The parameters as sent, not validated, and the application of their `client_id`."""

    form: Form
    client: RegisteredClient | None
    base_url: str
    catalogue: Catalogue

    def one(self, name: str) -> str | None:
        """The value of a parameter that was sent once; None if it is missing, empty or repeated."""
        values = self.form.all(name)
        return (values[0] or None) if len(values) == 1 else None

    @property
    def scopes(self) -> Scopes | None:
        """The requested scopes; None if one is unknown. Applications of documents ask for all that there are."""
        requested = scopes.parse(name for name in (self.one("scope") or "").split(" ") if name)
        is_of_document = self.client is not None and self.client.document_url is not None
        return requested & self.client.scopes if requested is not None and self.client and is_of_document else requested

    @property
    def state(self) -> str | None:
        """The state; None if it cannot be returned to the client."""
        state = self.one("state")
        return state if state and len(state) <= STATE_CHARS_MAX and not _has_control(state) else None

    @property
    def mode(self) -> str:
        """The mode, live by default."""
        return self.one("mode") or "live"

    @property
    def limits(self) -> Limits:
        """The requested limits. Raises `InvalidAuthorizationDetails`."""
        return authorization_details_model.parse(self.one("authorization_details"), self.catalogue)

    @property
    def dpop_jkt(self) -> bytes | None:
        """The thumbprint of a key, which has the form of a code challenge; None if it is not one."""
        return client_auth.parse_challenge(self.one("dpop_jkt") or "")

    @property
    def resource(self) -> Resource:
        """What the tokens will open, the Integration API by default. Raises `InvalidTarget`."""
        return resources.requested(self.form, self.base_url) or "api"


def require_client_id(sent: SentParameters) -> None:
    """`client_id` is sent once."""
    client_id = sent.one("client_id")
    if client_id is None or _has_control(client_id):
        raise InvalidRequest("`client_id` is required, exactly once.")


def require_enabled_client(sent: SentParameters) -> None:
    """The application exists and is neither paused, revoked nor suspended."""
    if sent.client is None or sent.client.status != "enabled" or sent.client.suspended:
        raise UnknownApplication


def require_redirect_uri(sent: SentParameters) -> None:
    """`redirect_uri` is sent once."""
    if sent.one("redirect_uri") is None:
        raise InvalidRequest("`redirect_uri` is required, exactly once.")


def require_registered_redirect_uri(sent: SentParameters) -> None:
    """`redirect_uri` is registered, compared character by character (RFC 9700 section 2.1).

    In a document, one of loopback stands for all ports.
    """
    any_port = sent.client is not None and sent.client.document_url is not None
    if sent.client is None or not redirect_uris.is_one_of(
        sent.one("redirect_uri") or "", sent.client.redirect_uris, any_port=any_port
    ):
        raise InvalidRequest(
            "`redirect_uri` must be exactly one of the redirect URIs that are registered for this application."
        )


def require_single_parameters(sent: SentParameters) -> None:
    """No known parameter is repeated."""
    sent.form.require_no_repeats(SINGLE_PARAMETERS)


def require_response_type(sent: SentParameters) -> None:
    """`response_type` is `code`."""
    value = sent.one("response_type")
    if value is None:
        raise InvalidRequest("`response_type` is required.")
    if value != "code":
        raise UnsupportedResponseType


def require_scope(sent: SentParameters) -> None:
    """`scope` has registered scopes, at least one besides `offline_access`."""
    if sent.scopes is None:
        raise InvalidScope("`scope` contains an unknown scope.")
    if not sent.scopes.has_api:
        raise InvalidScope("`scope` must contain at least one scope besides offline_access.")
    if sent.client is None or not sent.scopes.within(sent.client.scopes):
        raise InvalidScope("`scope` must contain only scopes that are registered for this application.")


def require_state(sent: SentParameters) -> None:
    """`state` can be returned unchanged."""
    if sent.state is None:
        raise InvalidRequest(f"`state` must be 1 to {STATE_CHARS_MAX} characters long, without control characters.")


def require_code_challenge(sent: SentParameters) -> None:
    """`code_challenge` is an unpadded base64url SHA-256."""
    if client_auth.parse_challenge(sent.one("code_challenge") or "") is None:
        raise InvalidRequest(
            "`code_challenge` must be the SHA-256 of the verifier in base64url without padding, 43 characters."
        )


def require_code_challenge_method(sent: SentParameters) -> None:
    """`code_challenge_method` is S256. It is required, as its default is plain (RFC 7636 section 4.3)."""
    if sent.one("code_challenge_method") != "S256":
        raise InvalidRequest("`code_challenge_method` must be S256.")


def require_mode(sent: SentParameters) -> None:
    """`mode` is live or test."""
    if sent.mode not in {"live", "test"}:
        raise InvalidRequest("`mode` must be live or test.")


def require_resource(sent: SentParameters) -> None:
    """`resource` names one resource of this server, if it is sent (RFC 8707)."""
    _ = sent.resource


def require_pushed(sent: SentParameters) -> None:
    """The settings of the application do not require that its requests are pushed (RFC 9126 section 5)."""
    if sent.client is not None and sent.client.require_par:
        raise InvalidRequest("This application must push its authorization requests. Its settings require it.")


def require_authorization_details(sent: SentParameters) -> None:
    """`authorization_details` has valid limits."""
    _ = sent.limits


def require_dpop_jkt(sent: SentParameters) -> None:
    """`dpop_jkt` is an unpadded base64url SHA-256, if it is sent."""
    if sent.one("dpop_jkt") is not None and sent.dpop_jkt is None:
        raise InvalidRequest(
            "`dpop_jkt` must be the SHA-256 thumbprint of a key in base64url without padding, 43 characters."
        )


Rule = Callable[[SentParameters], None]
BEFORE_REDIRECT: tuple[Rule, ...] = (
    require_client_id,
    require_enabled_client,
    require_redirect_uri,
    require_registered_redirect_uri,
)
BY_REDIRECT: tuple[Rule, ...] = (
    require_single_parameters,
    require_response_type,
    require_scope,
    require_state,
    require_code_challenge,
    require_code_challenge_method,
    require_mode,
    require_resource,
    require_authorization_details,
    require_dpop_jkt,
)


def authorization_request(sent: SentParameters) -> AuthorizationRequest:
    """The request, after its rules."""
    client = cast("RegisteredClient", sent.client)
    return AuthorizationRequest(
        client_id=ClientId(client.client_id),
        auth_epoch=client.auth_epoch,
        redirect_uri=cast("str", sent.one("redirect_uri")),
        scopes=cast("Scopes", sent.scopes),
        state=cast("str", sent.state),
        challenge=cast("bytes", client_auth.parse_challenge(sent.one("code_challenge") or "")),
        mode=cast("Mode", sent.mode),
        resource=sent.resource,
        limits=sent.limits.stored,
        dpop_jkt=sent.dpop_jkt,
    )


def _has_control(text: str) -> bool:
    return any(unicodedata.category(char) == "Cc" for char in text)
