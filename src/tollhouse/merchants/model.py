"""What a merchant, its people and its API keys look like, and the rules that need no database."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.bodies import ValidationContext
from tollhouse.identity.people import email_faults, password_faults
from tollhouse.kernel import limits, messages, scopes, zones
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.ids import ApiKeyId, ClientId, GrantId, Mode
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.scopes import Scopes


class SignUp(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of sign-up."""

    email: str
    password: str
    business_name: str

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every field that is refused."""
        return self.field_errors()

    def field_errors(self) -> list[FieldError]:
        """Every field that is refused."""
        return [
            *email_faults("email", self.email),
            *password_faults("password", self.password),
            *name_faults("business_name", self.business_name, limits.BUSINESS_NAME_CHARS_MAX),
        ]


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of sign-in. `code` is of the second factor, where the account has one, and counts for nothing else."""

    email: str
    password: str
    code: str | None = None


class Confirmation(Struct, frozen=True, forbid_unknown_fields=True):
    """The body that confirms who sits there. `code` is of the second factor, as at sign-in."""

    password: str
    code: str | None = None


class NewApiKey(Struct, frozen=True, forbid_unknown_fields=True):
    """The body that makes an API key. Left out, `scopes` is everything but offline_access."""

    name: str
    mode: Mode
    scopes: list[str] | None = None

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every field that is refused."""
        return self.field_errors()

    def field_errors(self) -> list[FieldError]:
        """Every field that is refused."""
        field_errors = name_faults("name", self.name, limits.KEY_NAME_CHARS_MAX)
        if self.allowed() is None:
            field_errors.append(FieldError("scopes", "invalid_scope", messages.NO_OFFLINE_SCOPE))
        return field_errors

    def allowed(self) -> Scopes | None:
        """What the key may do; None where that cannot be."""
        allowed = scopes.API if self.scopes is None else scopes.parse(self.scopes)
        return allowed if allowed and allowed.within(scopes.API) else None


class MerchantView(Struct, frozen=True):
    """A merchant, as the dashboard endpoints show it."""

    merchant_id: UUID
    business_name: str
    status: Literal["active", "suspended"]
    created_at: Timestamp


class UserView(Struct, frozen=True):
    """A person who signs in for a merchant."""

    user_id: UUID
    email: str
    created_at: Timestamp


class SessionView(Struct, frozen=True):
    """Who is signed in."""

    merchant: MerchantView
    user: UserView


class ApiKeyView(Struct, frozen=True, kw_only=True):
    """An API key's record. The key itself is a member of the answer that made it, and of no other."""

    api_key_id: UUID
    name: str
    mode: Mode
    livemode: bool
    scopes: list[str]
    hint: str
    status: Literal["active", "revoked"]
    created_at: Timestamp
    last_used_at: Timestamp | None


class NewApiKeyView(ApiKeyView, frozen=True, kw_only=True):
    """The record with the key, shown once."""

    api_key: str


class ApiKeyList(Struct, frozen=True):
    """All keys of the merchant, newest first, revoked ones included."""

    api_keys: list[ApiKeyView]


class AccountView(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The account as the Integration API shows it. The last two members are there for applications only."""

    merchant_id: UUID
    business_name: str
    mode: Mode
    livemode: bool
    api_key_id: ApiKeyId | None
    scopes: list[str]
    active: bool
    oauth_client_id: ClientId | None = None
    oauth_grant_id: GrantId | None = None


class Business(Struct, frozen=True):
    """What a merchant says of its business: its name, and the time zone that its pages tell times in."""

    business_name: str
    time_zone: str

    def field_errors(self) -> list[FieldError]:
        """Every field that is refused."""
        field_errors = name_faults("business_name", self.business_name, limits.BUSINESS_NAME_CHARS_MAX)
        if self.time_zone not in zones.names():
            field_errors.append(FieldError("time_zone", "invalid_value", messages.A_TIME_ZONE))
        return field_errors


class EmailTaken(ApiError):
    """409: there is an account with this e-mail."""

    code, status, message = "email_taken", 409, "There is already an account with this e-mail."


class SignupClosed(ApiError):
    """403: this Tollhouse takes no sign-ups."""

    code, status, message = "signup_closed", 403, "Sign-up is closed here."


def name_faults(field: str, name: str, chars_max: int) -> list[FieldError]:
    """A name must say something, on one line, within its length."""
    if not len(name.strip()) >= 1 or len(name) > chars_max:
        return [FieldError(field, "invalid_length", messages.characters(1, chars_max))]
    if not is_readable(name):
        return [FieldError(field, "invalid_characters", messages.NO_CONTROLS)]
    return []
