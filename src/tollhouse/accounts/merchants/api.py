"""Sign-up, sign-in, API keys and the account, as JSON."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import sessions, stepup
from tollhouse.accounts.identity.emails import EmailUnverified
from tollhouse.accounts.identity.guards import anyone_with_cookie, scope, signed_in, signed_in_while_suspended
from tollhouse.accounts.identity.model import (
    Caller,
    EverythingStops,
    InvalidCredentials,
    NoMembership,
    Person,
    SecondFactorMissing,
)
from tollhouse.accounts.identity.second_factor import InvalidCode, SecondFactorChanged, SecondFactorRequired
from tollhouse.accounts.identity.sessions import sign_in as sign_in_user
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.identity.webauthn_model import (
    ChallengeExpired,
    PasskeyCopied,
    PasskeyRefused,
    PasskeysUnavailable,
    UserVerificationRequired,
    WrongOrigin,
)
from tollhouse.accounts.merchants import actions, stopping, store, team
from tollhouse.accounts.merchants.model import (
    AccountView,
    ApiKeyList,
    ApiKeyView,
    Confirmation,
    EmailTaken,
    NewApiKey,
    NewApiKeyView,
    PasskeySignIn,
    SessionView,
    SignIn,
    SignUp,
    SignupClosed,
    StopEverything,
    Stopped,
)
from tollhouse.accounts.merchants.second_member import NoSecondMember, NotSecondMember, SecondMemberConfirmation
from tollhouse.accounts.merchants.team import TeamSettings, TeamSettingsChange
from tollhouse.accounts.spending import store as spending_store
from tollhouse.http.operations import DASHBOARD, INTEGRATION, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import json_response
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import ClientId
from tollhouse.platform.database.pool import Pool

PASSKEY_ERRORS = (
    PasskeysUnavailable,
    WrongOrigin,
    ChallengeExpired,
    RateLimited,
    PasskeyRefused,
    PasskeyCopied,
    UserVerificationRequired,
)
DASHBOARD_OPERATIONS = Operations(DASHBOARD)
INTEGRATION_OPERATIONS = Operations(INTEGRATION)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/signup",
    guard=anyone_with_cookie,
    status=201,
    errors=(SignupClosed, EmailTaken, ValidationFailed, RateLimited),
    responses=SessionView,
)
async def sign_up(request: Request, body: SignUp) -> Response:
    """Sign up. Creates a merchant account and opens a session."""
    view, secret = await actions.sign_up(request, body)
    return sessions.set_cookie(request, json_response(view, 201), secret)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/login",
    guard=anyone_with_cookie,
    errors=(InvalidCredentials, SecondFactorRequired, InvalidCode, SecondFactorChanged, NoMembership, RateLimited),
    responses=SessionView,
)
async def sign_in(request: Request, body: SignIn) -> Response:
    """Sign in. Opens a session."""
    secret = await sign_in_user(request, body.email, body.password, body.code)
    if body.stay_signed_in:
        await sessions.stay_signed_in(request, secret)
    return sessions.set_cookie(request, json_response(await actions.new_session_view(request, secret)), secret)


@DASHBOARD_OPERATIONS.add(
    "POST", "/login/passkey", guard=anyone_with_cookie, errors=(ValidationFailed, *PASSKEY_ERRORS), responses=SessionView
)
async def sign_in_by_passkey(request: Request, body: PasskeySignIn) -> Response:
    """Sign in with a passkey. It is both factors: no password and no code is needed. Opens a session."""
    secret = await sessions.sign_in_by_passkey(request, body.assertion)
    return sessions.set_cookie(request, json_response(await actions.new_session_view(request, secret)), secret)


@DASHBOARD_OPERATIONS.add("POST", "/logout", guard=anyone_with_cookie, status=204)
async def sign_out(request: Request) -> Response:
    """Sign out. Ends the session, if there is one."""
    return await sessions.sign_out(request, Response(status_code=204))


@DASHBOARD_OPERATIONS.add("GET", "/session", guard=signed_in("own"))
async def who_is_signed_in(caller: Person, db: Pool) -> SessionView:
    """Retrieve the session. It has the user and the merchant, and the user's role in it."""
    return await actions.session_view(db, caller)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/session/confirm",
    guard=signed_in_while_suspended("own"),
    errors=(
        ValidationFailed,
        InvalidCredentials,
        SecondFactorRequired,
        InvalidCode,
        SecondFactorChanged,
        *PASSKEY_ERRORS,
    ),
)
async def confirm_session(request: Request, caller: Person, body: Confirmation) -> SessionView:
    """Confirm password or passkey. Applies for the next 15 minutes. The session cookie is replaced."""
    if field_errors := body.field_errors():
        raise ValidationFailed(*field_errors)
    if body.assertion is not None:
        confirmed = await stepup.confirm_by_passkey(request, caller, body.assertion)
    else:
        confirmed = await stepup.confirm(request, caller, body.password or "", body.code)
    return await actions.session_view(request.services.db, confirmed)


class MerchantChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """The merchant that the session is to act for."""

    merchant_id: UUID


@DASHBOARD_OPERATIONS.add("POST", "/session/merchant", guard=signed_in_while_suspended("own"), errors=(NotFound,))
async def switch_merchant(request: Request, caller: Person, body: MerchantChoice) -> SessionView:
    """Change the merchant of the session. It has to be one of `merchants`. The session cookie is replaced."""
    secret = await sessions.switch_merchant(request, caller, body.merchant_id)
    return await actions.new_session_view(request, secret)


@DASHBOARD_OPERATIONS.add("GET", "/team", guard=signed_in("read"))
async def read_team_settings(caller: Person, db: Pool, catalogue: Catalogue, now: datetime) -> TeamSettings:
    """Retrieve the settings of the team. What Support may refund, what needs a second member or a second factor."""
    return await team.read(db, caller, catalogue, now)


@DASHBOARD_OPERATIONS.add(
    "PUT",
    "/team",
    guard=signed_in("ownership"),
    errors=(ValidationFailed, SecondFactorMissing, NoSecondMember),
    recent_authentication="always",
)
async def save_team_settings(caller: Person, body: TeamSettingsChange, work: Work) -> TeamSettings:
    """Update the settings of the team. What is left out stays as it is."""
    return await team.change(work, caller, body)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/team/confirm",
    guard=signed_in("money"),
    errors=(ValidationFailed, NotFound, NotSecondMember),
    recent_authentication="always",
)
async def confirm_team_settings(caller: Person, body: SecondMemberConfirmation, work: Work) -> TeamSettings:
    """Confirm a change of the settings of the team. As the second member, of an amount above which one has to approve."""
    return await team.confirm(work, caller, body)


@DASHBOARD_OPERATIONS.add("GET", "/api-keys", guard=signed_in("read"))
async def list_api_keys(caller: Person, db: Pool, catalogue: Catalogue) -> ApiKeyList:
    """List API keys. Newest first, with revoked ones."""
    return ApiKeyList(await store.list_api_keys(db, caller.merchant_id, catalogue))


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/api-keys",
    guard=signed_in("developers"),
    status=201,
    errors=(ValidationFailed, EmailUnverified, EverythingStops),
    recent_authentication="live",
)
async def make_api_key(caller: Person, body: NewApiKey, work: Work) -> NewApiKeyView:
    """Create an API key. The response contains the key, which is not shown again."""
    return await actions.create_api_key(work, caller, body)


@DASHBOARD_OPERATIONS.add(
    "DELETE", "/api-keys/{api_key_id}", guard=signed_in_while_suspended("developers"), errors=(NotFound,)
)
async def revoke_api_key(caller: Person, api_key_id: UUID, work: Work) -> ApiKeyView:
    """Revoke an API key. This is permanent."""
    return await actions.revoke_api_key(work, caller, api_key_id)


@DASHBOARD_OPERATIONS.add(
    "POST", "/stop-everything", guard=signed_in_while_suspended("developers"), errors=(ValidationFailed,)
)
async def stop_everything(caller: Person, body: StopEverything, work: Work) -> Stopped:
    """Stop everything. Revokes all API keys and connections of a mode at once. This is permanent."""
    return await stopping.stop_everything(work, caller, body.mode)


@INTEGRATION_OPERATIONS.add("GET", "/account", guard=scope("account:read"))
async def account(caller: Caller, db: Pool, now: datetime, catalogue: Catalogue) -> AccountView:
    """Retrieve the merchant account. With the limits of the credential, and what is left of them."""
    view = _account_view(caller, await store.protocol_id(db, caller.client_id))
    if not caller.is_limited or caller.credential_id is None:
        return view
    limits = await spending_store.get(db, caller.env.merchant_id, caller.credential_id)
    spent = await spending_store.get_spent(db, caller.credential_id, now)
    members = limits.members(catalogue, "limits_expire_at") | {"limits": limits.remaining(spent, catalogue)}
    return msgspec.structs.replace(view, **{name: value for name, value in members.items() if value is not None})


def _account_view(caller: Caller, client_id: ClientId | None) -> AccountView:
    return AccountView(
        merchant_id=caller.env.merchant_id,
        business_name=caller.business_name,
        mode=caller.env.mode,
        livemode=caller.env.livemode,
        api_key_id=caller.api_key_id,
        scopes=caller.scopes.names(),
        active=True,
        oauth_client_id=client_id,
        oauth_grant_id=caller.grant_id,
    )
