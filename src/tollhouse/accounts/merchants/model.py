"""The request bodies and views of merchants, users and API keys, and their rules."""

from datetime import datetime
from ipaddress import ip_network
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from tollhouse.accounts.environments.legal_details import LegalDetails
from tollhouse.accounts.identity.credentials import email_errors, password_errors
from tollhouse.accounts.identity.model import MembershipView, MemberView
from tollhouse.accounts.identity.webauthn_model import PasskeyAssertion
from tollhouse.accounts.spending.model import LimitRequest, LimitView, RemainingLimitView, limits_errors
from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import clock, messages, scopes
from tollhouse.kernel import limits as kernel_limits
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ApiKeyId, ClientId, GrantId, Mode
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.roles import Role
from tollhouse.kernel.scopes import Scopes


class SignUp(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of sign-up."""

    email: str
    password: Annotated[str, example("a long password")]
    business_name: str

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """The errors of every invalid field."""
        return self.field_errors()

    def field_errors(self) -> list[FieldError]:
        """The errors of every invalid field."""
        return [
            *email_errors("email", self.email),
            *password_errors("password", self.password),
            *name_errors("business_name", self.business_name, kernel_limits.BUSINESS_NAME_CHARS_MAX),
        ]


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of sign-in. `code` is needed if the account has a second factor."""

    email: str
    password: Annotated[str, example("a long password")]
    code: str | None = None
    """Code of the authenticator, or a backup code, if two-factor authentication is on."""
    stay_signed_in: bool = False
    """Whether the session stays open on this device for 30 days; otherwise it ends 12 hours after its last use."""


class Confirmation(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a confirmation: the password, with `code` if two-factor authentication is on, or a passkey."""

    password: Annotated[str | None, example("a long password")] = None
    code: str | None = None
    """Code of the authenticator, or a backup code, if two-factor authentication is on."""
    assertion: PasskeyAssertion | None = None
    """Instead of the password: what `navigator.credentials.get()` returned, by `toJSON()`."""

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """The errors of every invalid field."""
        return self.field_errors()

    def field_errors(self) -> list[FieldError]:
        """Password or passkey is there, and not both."""
        if self.assertion is None:
            return [] if self.password is not None else [FieldError("password", "missing", messages.REQUIRED)]
        sent = {"password": self.password, "code": self.code}
        return [FieldError(name, "conflicting", messages.NOT_WITH_ASSERTION) for name, value in sent.items() if value]


class PasskeySignIn(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a sign-in with a passkey."""

    assertion: PasskeyAssertion
    """What `navigator.credentials.get()` returned, by `toJSON()`."""


class NewApiKey(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a new API key. `scopes` defaults to all but `offline_access`."""

    name: Annotated[str, example("Till")]
    """Name that tells your keys apart, such as the system that uses it."""
    mode: Mode
    scopes: Annotated[list[str] | None, example(["payments:read", "payments:write"])] = None
    limits: list[LimitRequest] = []
    """What the key may move; a kind that is not listed is not limited."""
    recipients: list[UUID] | None = None
    """Saved recipients that it may withdraw to; null for all."""
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    """When everything that can be limited ends: from then on it moves no money."""
    allowed_networks: Annotated[list[str], example(["203.0.113.0/24"])] = []
    """Networks that its requests may come from; empty for all."""
    proposals_only: bool = False
    """Whether it may only propose what moves money."""

    def rule_errors(self, context: ValidationContext) -> list[FieldError]:
        """The errors of every invalid field."""
        return self.field_errors(context.catalogue)

    def field_errors(self, catalogue: Catalogue) -> list[FieldError]:
        """The errors of every invalid field."""
        field_errors = name_errors("name", self.name, kernel_limits.KEY_NAME_CHARS_MAX)
        if self.allowed_scopes() is None:
            field_errors.append(FieldError("scopes", "invalid_scope", messages.NO_OFFLINE_SCOPE))
        return [
            *field_errors,
            *limits_errors(self.limits, self.recipients, catalogue),
            *network_errors("allowed_networks", self.allowed_networks),
        ]

    def allowed_scopes(self) -> Scopes | None:
        """The scopes of the key; None if they are not valid."""
        allowed = scopes.API if self.scopes is None else scopes.parse(self.scopes)
        return allowed if allowed and allowed.within(scopes.API) else None


class MerchantView(Struct, frozen=True):
    """A merchant, in responses of the dashboard API."""

    merchant_id: UUID
    business_name: str
    status: Literal["active", "suspended"]
    """Whether the account can be used.

    active: It can.
    suspended: An operator suspended it: API requests fail, and the dashboard can be read.
    """
    created_at: Timestamp


class UserView(Struct, frozen=True):
    """A user of a merchant."""

    user_id: UUID
    """ID of the user."""
    email: str
    created_at: Timestamp


class SessionView(Struct, frozen=True):
    """The user of a session, and the merchant that it acts for."""

    merchant: MerchantView
    """Merchant that the session belongs to."""
    user: UserView
    """User who signed in."""
    role: Role
    """What the user may do for the merchant."""
    members: list[MemberView]
    """Members of the merchant, those for longest first."""
    merchants: list[MembershipView]
    """Merchants that the user belongs to, by name."""


class ApiKeyView(Struct, frozen=True, kw_only=True):
    """An API key, without the key itself."""

    api_key_id: UUID
    name: Annotated[str, example("Till")]
    """Name that tells your keys apart."""
    mode: Mode
    livemode: bool
    scopes: list[str]
    hint: Annotated[str, example("th_test_…x9Fq")]
    """Beginning and end of the key, to recognize it."""
    status: Literal["active", "revoked"]
    """Whether the key is accepted.

    active: It is accepted.
    revoked: It has ended for good.
    """
    created_at: Timestamp
    last_used_at: Timestamp | None
    limits: list[LimitView]
    """What it may move; a kind that is not listed is not limited."""
    recipients: list[UUID] | None
    """Saved recipients that it may withdraw to; null for all."""
    expires_at: Timestamp | None
    """From when on it moves no money; null if that never ends."""
    allowed_networks: Annotated[list[str], example(["203.0.113.0/24"])]
    """Networks that its requests may come from; empty for all."""
    proposals_only: bool
    """Whether it may only propose what moves money."""


class NewApiKeyView(ApiKeyView, frozen=True, kw_only=True):
    """A new API key. `api_key` is returned only once."""

    api_key: Annotated[str, example("th_test_… (shown once)")]
    """The key itself; it is shown in this response only."""


class ApiKeyList(Struct, frozen=True):
    """All keys of the merchant, newest first, revoked ones included."""

    api_keys: list[ApiKeyView]


class StopEverything(Struct, frozen=True, forbid_unknown_fields=True):
    """What to stop."""

    mode: Mode


class Stopped(Struct, frozen=True):
    """How many there were. All of them have ended for good."""

    mode: Mode
    livemode: bool
    api_keys: Annotated[int, example(2)]
    """API keys, which are revoked."""
    connections: Annotated[int, example(3)]
    """Connections of applications, which are disconnected."""
    proposals: Annotated[int, example(1)]
    """Proposals that waited for a decision, which are canceled."""


class AccountView(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The account in the integration API. The last two members are set for applications only."""

    merchant_id: UUID
    """ID of the merchant."""
    business_name: str
    mode: Mode
    livemode: bool
    api_key_id: ApiKeyId | None
    """ID of the API key that sent the request; null for an access token."""
    scopes: list[str]
    active: bool
    """Whether the account can be used; a suspended one cannot."""
    limits: list[RemainingLimitView] | UnsetType = UNSET
    """What this key or connection may move, and what is left of it; absent if it has no limits."""
    recipients: list[UUID] | UnsetType = UNSET
    """Saved recipients that it may withdraw to; absent if they are not limited."""
    limits_expire_at: Timestamp | UnsetType = UNSET
    """From when on it moves no money; absent if that never ends."""
    oauth_client_id: ClientId | None = None
    oauth_grant_id: GrantId | None = None
    """ID of the connection; present for access tokens only."""


class Business(Struct, frozen=True):
    """The business settings: the name, the time zone of the dashboard, and the legal details for receipts."""

    business_name: str
    time_zone: str
    legal: LegalDetails = LegalDetails()

    def field_errors(self) -> list[FieldError]:
        """The errors of every invalid field."""
        field_errors = name_errors("business_name", self.business_name, kernel_limits.BUSINESS_NAME_CHARS_MAX)
        if self.time_zone not in clock.zone_names():
            field_errors.append(FieldError("time_zone", "invalid_value", messages.A_TIME_ZONE))
        return [*field_errors, *self.legal.field_errors()]


class EmailTaken(ApiError):
    """409: an account with this email exists."""

    code, status, message = "email_taken", 409, "An account with this email address already exists. Sign in instead."
    solution = "Sign in, or reset the password."


class SignupClosed(ApiError):
    """403: sign-up is closed on this server."""

    code, status, message = "signup_closed", 403, "Sign-up is closed on this server."
    solution = "Ask the operator for an account."


def network_errors(field: str, networks: list[str]) -> list[FieldError]:
    """The errors of a list of IP networks. A network has no bits set beyond its prefix."""
    if len(networks) > kernel_limits.ALLOWED_NETWORKS_MAX:
        return [FieldError(field, "too_many", messages.items(None, kernel_limits.ALLOWED_NETWORKS_MAX))]
    return [
        FieldError(f"{field}.{place}", "invalid_network", messages.A_NETWORK_ADDRESS)
        for place, text in enumerate(networks)
        if not _is_network(text)
    ]


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return "%" not in text


def name_errors(field: str, name: str, chars_max: int) -> list[FieldError]:
    """The errors of a name: its length, and control characters."""
    if not len(name.strip()) >= 1 or len(name) > chars_max:
        return [FieldError(field, "invalid_length", messages.characters(1, chars_max))]
    if not is_readable(name):
        return [FieldError(field, "invalid_characters", messages.NO_CONTROLS)]
    return []
