"""The callers of the API and pages, and the errors of authentication and authorization."""

from datetime import datetime, tzinfo
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, zone_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ApiKeyId, ClientId, GrantId, MerchantId, Mode, UserId
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.roles import NAMES, Permission, Role, grantable, may, who_may
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.text import Text, Translatable, as_text

ALGORITHMS = ("ES256", "PS256", "Ed25519", "EdDSA")
"""Of signed tokens that others made. EdDSA with Ed25519 keys, under its old and its new name (RFC 9864).

No RS256: its padding is the weaker one (FAPI 2.0).
"""
CHALLENGE = 'Bearer realm="tollhouse"'
INVALID_TOKEN = f'{CHALLENGE}, error="invalid_token"'
DPOP_CHALLENGE = f'DPoP realm="tollhouse", algs="{" ".join(ALGORITHMS)}"'
MODES: dict[str, Mode] = {"live": "live", "test": "test"}


class Caller(Struct, frozen=True):
    """The caller of the integration API: an API key, or an application with an access token (`client_id` and `grant_id`).

    `resource` is what the access token was granted for; None for an API key. `dpop_jkt` is the thumbprint of the key that
    the token is bound to; None for a bearer token.
    """

    env: MerchantEnv
    business_name: str
    scopes: Scopes
    api_key_id: ApiKeyId | None = None
    client_id: ClientId | None = None
    grant_id: GrantId | None = None
    client_is_public: bool = False
    resource: Resource | None = None
    dpop_jkt: bytes | None = None
    use_is_stale: bool = False
    is_limited: bool = False
    """Whether the connection or key has limits: `accounts.spending`."""
    proposals_only: bool = False
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Where requests with this API key may come from; empty: from anywhere."""

    def is_allowed_from(self, address: str) -> bool:
        """Whether requests may come from this IP address."""
        if not self.allowed_networks:
            return True
        try:
            source = ip_address(address)
        except ValueError:
            return False
        source = getattr(source, "ipv4_mapped", None) or source
        return any(source.version == network.version and source in network for network in self.allowed_networks)

    @property
    def credential_id(self) -> UUID | None:
        """The ID of the connection or the API key."""
        return self.grant_id or self.api_key_id

    @property
    def idempotency_name(self) -> str:
        """The scope of idempotency keys: the application across its grants, or the merchant across its API keys."""
        return self.client_id or "merchant"


class Person(Struct, frozen=True):
    """A user of the dashboard, from an active session.

    `merchant_id` is the merchant that the session acts for, `role` the person's role there.
    `session_id` is constant during a session; `session_hash` changes when the user confirms the password, which also sets
    `authenticated_at`. `language` is that of emails, `verified` whether the email address is, `remembered_mode` the mode of
    the last page. Disputes are those that wait for a response, proposals those that wait for a decision. Unread
    notifications are those of the mode of a page, up to 100.
    """

    user_id: UserId
    email: str
    merchant_id: MerchantId
    business_name: str
    role: Role
    suspended: bool
    session_id: UUID
    session_hash: bytes
    user_created_at: datetime
    merchant_created_at: datetime
    authenticated_at: datetime
    time_zone: str
    language: str
    verified: bool
    remembered_mode: Mode | None
    lacks_factor: bool = False
    """Whether the merchant requires a second factor, and the user has none."""
    merchants: int = 1
    """How many merchants the user belongs to."""
    live_disputes: int = 0
    test_disputes: int = 0
    unread_notifications: int = 0
    live_proposals: int = 0
    test_proposals: int = 0

    @property
    def zone(self) -> tzinfo:
        """The time zone of the pages."""
        return zone_of(self.time_zone)

    def disputes_in(self, mode: str) -> int:
        """The number of disputes in this mode that wait for a response."""
        return self.live_disputes if mode == "live" else self.test_disputes

    def proposals_in(self, mode: str) -> int:
        """The number of proposals in this mode that wait for a decision."""
        return self.live_proposals if mode == "live" else self.test_proposals

    def may(self, permission: Permission, mode: Mode | None = "live") -> bool:
        """Whether the role may do this in a mode; None: in any mode."""
        return may(self.role, permission, mode)

    def can(self, permission: Permission, mode: Mode | None = "live") -> bool:
        """Whether a page offers this: the role may do it, and the merchant is not suspended."""
        return not self.suspended and self.may(permission, mode)

    def require(self, permission: Permission, mode: Mode | None = "live") -> None:
        """Raises `RoleForbidden` unless the role may do this in a mode."""
        if not self.may(permission, mode):
            raise RoleForbidden(self.role, who_may(permission, mode))

    def require_scopes(self, given: Scopes, mode: Mode) -> None:
        """Raises `RoleForbidden` unless the role may give these scopes to a key or an application."""
        if not given.within(grantable(self.role, mode)):
            raise RoleForbidden(self.role, [role for role in NAMES if given.within(grantable(role, mode))])

    def env(self, mode: str) -> MerchantEnv:
        """The environment named by a page's path. Raises `NotFound` if there is none."""
        if mode not in MODES:
            raise NotFound
        return MerchantEnv(self.merchant_id, MODES[mode])


class MemberView(Struct, frozen=True):
    """A member of the merchant, in responses."""

    user_id: UUID
    """ID of the user."""
    email: Annotated[str, example("anna@example.com")]
    role: Role
    """What the member may do."""
    created_at: Timestamp


class MembershipView(Struct, frozen=True):
    """A merchant that a person belongs to, in responses."""

    merchant_id: UUID
    """ID of the merchant."""
    business_name: str
    role: Role
    """What the person may do there."""


class AddressChange(Struct, frozen=True):
    """A change of the address by which a person signs in: requested, confirmed or withdrawn, and perhaps undone.

    The facts are moments; what can be done with it is compared with the present.
    """

    id: UUID
    user_id: UUID
    old_email: str
    old_key: str
    new_email: str
    new_key: str
    requested_at: datetime
    expires_at: datetime
    withdrawn_at: datetime | None
    confirmed_at: datetime | None
    undo_until: datetime | None
    undone_at: datetime | None
    was_verified: bool

    @property
    def ends_at(self) -> datetime:
        """Until when it can be confirmed, or, once it is, undone."""
        return self.undo_until or self.expires_at

    def can_be_confirmed(self, now: datetime) -> bool:
        """Whether the link in the email to the new address works, or has confirmed it."""
        return self.withdrawn_at is None and self.undone_at is None and now < self.expires_at

    def can_be_undone(self, now: datetime) -> bool:
        """Whether the link in the email to the old address works, or has undone it."""
        return self.undo_until is not None and now < self.undo_until


class Operator(Struct, frozen=True):
    """An operator of this server, from an active session."""

    operator_id: UUID
    email: str
    session_hash: bytes
    has_second_factor: bool
    authenticated_at: datetime


class RoleForbidden(ApiError):
    """403: the role of the user in this merchant account does not include the action."""

    code, status, message = "role_forbidden", 403, "Your role does not allow this."
    solution = "Ask a member with one of `roles`, or an owner for another role. Teams lists what each role may do."

    def __init__(self, role: Role, allowed: list[Role], message: Translatable | None = None) -> None:
        first, *others = [Text("%(role)s", role=as_text(NAMES[each])) for each in allowed]
        for other in others:
            first = Text("%(roles)s, %(role)s", roles=first, role=other)
        super().__init__(
            message
            or Text(
                "Your role (%(role)s) does not allow this. It needs: %(roles)s.", role=as_text(NAMES[role]), roles=first
            ),
            members={"role": role, "roles": list(allowed)},
        )


class SecondFactorMissing(ApiError):
    """403: an owner requires second factors of all members, and the user has none."""

    code, status = "second_factor_missing", 403
    message = "This merchant account requires two-factor authentication. Turn it on under Security first."
    solution = "Set up two-factor authentication or a passkey under Security, then repeat the request."


class NoMembership(ApiError):
    """403: the user belongs to no merchant account any more."""

    code, status, message = "no_membership", 403, "You are not a member of any merchant account."
    solution = "Ask an owner of the merchant account for an invitation."


class InvalidCredentials(ApiError):
    """401: unknown email or wrong password, with the same message and timing."""

    code, status, message = "invalid_credentials", 401, "Incorrect email or password."
    solution = "Check email address and password, or reset the password."


class Unauthenticated(ApiError):
    """401 of a resource. The challenge says where the metadata of the resource is (RFC 9728 section 5.1)."""

    status, challenge = 401, CHALLENGE

    def __init__(self, metadata_url: str, *, detail: str = "") -> None:
        challenge = f'{self.challenge}, resource_metadata="{metadata_url}"'
        super().__init__(detail=detail, headers={"WWW-Authenticate": challenge})


class NoCredential(Unauthenticated):
    """401: no API key and no access token. The challenge has no error attribute (RFC 6750 section 3.1)."""

    code, message = "authentication_required", "Send an API key or an OAuth access token."


class InvalidToken(Unauthenticated):
    """401: the token is unknown, malformed, expired or revoked, or of another resource."""

    code, message, challenge = "invalid_token", "The access token is unknown, expired or revoked.", INVALID_TOKEN
    solution = "Refresh the access token. If that fails, ask the merchant to connect again."


class InvalidDpopToken(InvalidToken):
    """401: the token came by the wrong scheme or with another key than it is bound to, or it is not valid (RFC 9449)."""

    challenge = f'{DPOP_CHALLENGE}, error="invalid_token"'
    message = (
        "The access token is not valid with this scheme and key. A bound token needs `Authorization: DPoP` and a proof."
    )
    solution = "Send a bound token with `Authorization: DPoP` and a proof of its key, and any other one with `Bearer`."


class InvalidProof(Unauthenticated):
    """401: the `DPoP` header beside a bound token is missing, malformed, expired or used, or of another request."""

    code, challenge = "invalid_dpop_proof", f'{DPOP_CHALLENGE}, error="invalid_dpop_proof"'
    message = "The DPoP proof of this request is missing or not valid."
    solution = "Make a new proof for each request: its method and URL, the access token, the time of now, and a new `jti`."


class InvalidApiKey(Unauthenticated):
    """401: the API key is unknown, malformed or revoked."""

    code, message = "invalid_api_key", "The API key is unknown or revoked."
    solution = "Check that the key is complete and not revoked, or create a new one in the dashboard."


class NetworkNotAllowed(ApiError):
    """403: the API key may only be used from certain networks, and the request came from elsewhere."""

    code, status, message = "network_not_allowed", 403, "This API key cannot be used from this IP address."
    solution = "Send the request from one of `allowed_networks` of the key, or create a key that allows this network."


class MissingScope(ApiError):
    """403: the credential lacks the scope named by `scope`.

    The challenge uses the scheme of the caller and the error code of RFC 6750, and names every scope that is needed.
    """

    code, status, message = "missing_scope", 403, "The credential does not have the required scope."
    solution = "Use a key or a connection with the scope that `scope` names."

    def __init__(self, caller: Caller, scope: str, *needed: str) -> None:
        scheme = "Bearer" if caller.dpop_jkt is None else "DPoP"
        challenge = f'{scheme} error="insufficient_scope", scope="{" ".join(needed or (scope,))}"'
        super().__init__(headers={"WWW-Authenticate": challenge}, members={"scope": scope})


class ProposalRequired(ApiError):
    """403: the connection or API key may only propose this; the merchant approves it."""

    code, status, message = "proposal_required", 403, "This connection or API key can only propose this to the merchant."
    solution = "Send it as a proposal to `POST /proposals`. It runs when the merchant approves it."


class AccountSuspended(ApiError):
    """403: the merchant is suspended. Its grants are kept."""

    code, status, message = "account_suspended", 403, "This merchant account is suspended."
    solution = "Contact the operator. Until then you can read the dashboard and revoke keys and connections."


class ApplicationSuspended(ApiError):
    """403: an operator suspended the application or its owner. Its grants are kept."""

    code, status, message = "application_suspended", 403, "This application is suspended."
    solution = "Contact the operator. Connections are kept."


class EverythingStops(ApiError):
    """409: all API keys and connections of the mode are being revoked at this moment."""

    code, status = "everything_stops", 409
    message = "All API keys and connections are being revoked at this moment. Nothing was created."
    solution = "Wait until that is done. Then create what you still need."


class RecentAuthenticationRequired(ApiError):
    """403: sign-in or the last confirmation is more than 15 minutes ago. POST /api/v2/merchant/session/confirm renews it."""

    code, status = "recent_authentication_required", 403
    message = "Confirm your password and try again. Your last sign-in or confirmation was more than 15 minutes ago."
    solution = "Call `POST /api/v2/merchant/session/confirm` with the password, then repeat the request."


class TestModeOnly(ApiError):
    """403: a live credential cannot use the simulator."""

    code, status = "test_mode_only", 403
    message = "The simulator works only in the test environment."
    solution = "Use a test key (`th_test_…`)."


class ApplicationRequired(ApiError):
    """403: only the application may do this, not the paying merchant with an API key."""

    code, status = "application_required", 403
    message = "Only the application can do this. Send its access token."
    solution = "Send an access token of the application instead of an API key."


class ConfidentialClientRequired(ApiError):
    """403: the token of a public client is on its users' devices."""

    code, status = "confidential_client_required", 403
    message = "Only a confidential client, or the owner of the application in the dashboard, can do this."
    solution = "Use a confidential application, or let its owner do it in the dashboard."


class SignInFirst(ApiError):
    """303: the page needs a session."""

    code, status, message = "authentication_required", 303, "Sign in first."

    def __init__(self, location: str) -> None:
        super().__init__(headers={"Location": location})
