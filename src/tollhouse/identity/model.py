"""The callers we know, and how they are refused."""

from datetime import datetime, tzinfo
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import ApiKeyId, ClientId, GrantId, MerchantId, Mode, UserId
from tollhouse.kernel.scopes import Scopes
from tollhouse.kernel.zones import zone_of

CHALLENGE = 'Bearer realm="tollhouse"'
MODES: dict[str, Mode] = {"live": "live", "test": "test"}


class Caller(Struct, frozen=True):
    """Who calls the Integration API: an API key, or an application by its token (`client_id` and `grant_id`)."""

    env: MerchantEnv
    business_name: str
    scopes: Scopes
    api_key_id: ApiKeyId | None = None
    client_id: ClientId | None = None
    grant_id: GrantId | None = None
    client_is_public: bool = False
    use_is_stale: bool = False

    @property
    def idempotency_name(self) -> str:
        """Whose keys these are: the application's across its grants, or the merchant's across all its API keys."""
        return self.client_id or "merchant"


class Person(Struct, frozen=True):
    """Who sits at the dashboard, and when they last proved it: by signing in, or when they were asked again.

    `session_id` stays for as long as they are signed in; the secret behind `session_hash` changes when they are asked again.
    `language` is the one of mails to them; `verified`, whether they have shown that such mails reach them.
    """

    user_id: UserId
    email: str
    merchant_id: MerchantId
    business_name: str
    suspended: bool
    session_id: UUID
    session_hash: bytes
    user_created_at: datetime
    merchant_created_at: datetime
    authenticated_at: datetime
    time_zone: str
    language: str
    verified: bool

    @property
    def zone(self) -> tzinfo:
        """Whose clocks the pages go by."""
        return zone_of(self.time_zone)

    def env(self, mode: str) -> MerchantEnv:
        """The environment that the path of a page names. Raises `NotFound` where there is no such one."""
        if mode not in MODES:
            raise NotFound
        return MerchantEnv(self.merchant_id, MODES[mode])


class Operator(Struct, frozen=True):
    """Who runs this house, at its pages, and when they last proved it: by signing in, or when they were asked again."""

    operator_id: UUID
    email: str
    session_hash: bytes
    has_second_factor: bool
    authenticated_at: datetime


class InvalidCredentials(ApiError):
    """401: wrong e-mail or wrong password, in the same words and the same time."""

    code, status, message = "invalid_credentials", 401, "The e-mail or the password is wrong."


class NoCredential(ApiError):
    """401: neither a token nor an API key. The challenge has no error attribute (RFC 6750 section 3.1)."""

    code, status, message = "authentication_required", 401, "Send an API key or an OAuth access token."

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": CHALLENGE})


class InvalidToken(ApiError):
    """401: the token is unknown, malformed, expired or revoked."""

    code, status, message = "invalid_token", 401, "The access token is unknown, expired or revoked."

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'})


class InvalidApiKey(ApiError):
    """401: the API key is unknown, malformed or revoked."""

    code, status, message = "invalid_api_key", 401, "The API key is unknown or revoked."

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": CHALLENGE})


class MissingScope(ApiError):
    """403: the credential lacks the permission; `scope` names it. The challenge uses RFC 6750's word for it."""

    code, status, message = "missing_scope", 403, "The credential lacks the permission this needs."

    def __init__(self, scope: str) -> None:
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        super().__init__(headers={"WWW-Authenticate": challenge}, members={"scope": scope})


class AccountSuspended(ApiError):
    """403: the merchant is suspended; its grants stay."""

    code, status, message = "account_suspended", 403, "This merchant account is suspended."


class ApplicationSuspended(ApiError):
    """403: an operator suspended the application, or its owner is suspended; its grants stay."""

    code, status, message = "application_suspended", 403, "This application is suspended."


class RecentAuthenticationRequired(ApiError):
    """403: sign-in or the last confirmation is more than 15 minutes ago. POST /api/v2/merchant/session/confirm renews it."""

    code, status = "recent_authentication_required", 403
    message = "Confirm your password, then try again: you signed in or confirmed it more than 15 minutes ago."


class TestModeOnly(ApiError):
    """403: the simulator is for the test environment."""

    code, status = "test_mode_only", 403
    message = "The simulator works in the test environment only."


class ApplicationRequired(ApiError):
    """403: this is up to the application. An API key is the paying merchant's, who may pay and not take back."""

    code, status = "application_required", 403
    message = "Only the application can do this: use its access token."


class ConfidentialClientRequired(ApiError):
    """403: the token of a public client is in the hands of whoever uses it, such as the merchant who paid."""

    code, status = "confidential_client_required", 403
    message = "Only a confidential client can do this, or the owner of the application at the dashboard."


class SignInFirst(ApiError):
    """303: a page that needs a session sends the browser to sign in."""

    code, status, message = "authentication_required", 303, "Sign in first."

    def __init__(self, location: str = "/signin") -> None:
        super().__init__(headers={"Location": location})
