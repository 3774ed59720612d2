"""Sign-up, sign-in, password confirmation and API keys, and what follows sign-in or sign-up."""

from typing import Self
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import assertions, dashboard_mode, mfa_pending, second_factor, sessions, stepup
from tollhouse.accounts.identity.emails import EmailUnverified
from tollhouse.accounts.identity.guards import anyone, signed_in_page, signed_in_page_while_suspended, visitor
from tollhouse.accounts.identity.model import Person, SignInFirst
from tollhouse.accounts.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.accounts.identity.sessions import finish_sign_in, sign_in_by_passkey
from tollhouse.accounts.identity.sessions import sign_in as sign_in_user
from tollhouse.accounts.identity.stepup import DASHBOARD
from tollhouse.accounts.merchants import actions, store
from tollhouse.accounts.merchants.model import ApiKeyView, EmailTaken, NewApiKey, SignUp
from tollhouse.accounts.spending.model import NO_LIMITS
from tollhouse.http.forms import Form, by_field, flash_message, parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other, with_headers_of
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, AuthenticationRequired, ValidationFailed
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard import limit_form
from tollhouse.pages.dashboard.account.key_presets import CUSTOM, GRANTABLE, PRESETS, READ, scopes_of, title_of
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.limit_form import LimitForm

OPERATIONS = Operations(PAGES)
NOTICES = {
    "reset": "Your password was changed. Sign in with your new password.",
    "everywhere": "You are signed out everywhere.",
}


@OPERATIONS.add("GET", "/", guard=anyone)
async def start(request: Request) -> Response:
    """The home page for a user with a session, the sign-in page for others."""
    person = await sessions.current_person(request)
    return see_other("/signin" if person is None else f"/{await dashboard_mode.mode_of(request, person)}/home")


@OPERATIONS.add("GET", "/signin", guard=anyone)
async def sign_in_page(request: Request) -> Response:
    """The sign-in form. `request` is the authorization request to continue with, or `to` the page."""
    return _sign_in_page(request, parse_form(request.query), notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", "/signin", guard=visitor)
async def sign_in(request: Request) -> Response:
    """Verify the password, then ask for the code or continue with what follows."""
    form = request.form()
    email = form.one("email") or ""
    try:
        if sent := form.one("passkey"):
            secret = await sign_in_by_passkey(request, assertions.read_form(sent))
        else:
            secret = await sign_in_user(request, email, form.one("password") or "")
    except SecondFactorRequired as required:
        return mfa_pending.set_cookie(request, see_other(Continuation.of(form).code_path), "signin", required.holder_id)
    except ApiError as error:
        return _sign_in_page(request, form, email, error)
    return await _signed_in(request, Continuation.of(form), secret)


async def _signed_in(request: Request, continuation: "Continuation", secret: str) -> Response:
    """Continue in the new session, which stays signed in where that was ticked."""
    if continuation.stay:
        await sessions.stay_signed_in(request, secret)
    return sessions.set_cookie(request, see_other(continuation.path), secret)


@OPERATIONS.add("GET", "/signin/2fa", guard=anyone)
async def code_page(request: Request) -> Response:
    """The form for the code, after the password."""
    form, user_id = parse_form(request.query), mfa_pending.account_id(request, "signin")
    if user_id is None:
        return see_other(Continuation.of(form).after("/signin"))
    return await _code_page(request, user_id, form)


@OPERATIONS.add("POST", "/signin/2fa", guard=visitor)
async def sign_in_by_code(request: Request) -> Response:
    """Verify the code, then continue with what follows."""
    form = request.form()
    user_id = mfa_pending.account_id(request, "signin")
    if user_id is None:
        return see_other(Continuation.of(form).after("/signin"))
    verified_at = mfa_pending.password_verified_at(request, "signin")
    try:
        if sent := form.one("passkey"):
            secret = await sign_in_by_passkey(request, assertions.read_form(sent), user_id)
        else:
            secret = await finish_sign_in(request, user_id, verified_at, form.one("code") or "")
    except SecondFactorChanged:
        return see_other(Continuation.of(form).after("/signin"))
    except ApiError as error:
        return await _code_page(request, user_id, form, error)
    return mfa_pending.clear_cookie(request, await _signed_in(request, Continuation.of(form), secret), "signin")


def _sign_in_page(
    request: Request, form: Form, email: str = "", error: ApiError | None = None, notice: str = ""
) -> Response:
    status, message = (200, "") if error is None else (error.status, error.message)
    response = page(
        request,
        "dashboard/account/signin.html",
        status,
        continuation=Continuation.of(form),
        email=email,
        message=message,
        notice=notice,
        options=assertions.sign_in_attribute(request, "person"),
    )
    return response if error is None else with_headers_of(error, response)


async def _code_page(request: Request, user_id: UUID, form: Form, error: ApiError | None = None) -> Response:
    factors = await second_factor.state(request.services.db, user_id)
    status, message = (200, "") if error is None else (error.status, error.message)
    response = page(
        request,
        "dashboard/account/signin_code.html",
        status,
        continuation=Continuation.of(form),
        message=message,
        factors=factors,
        options=assertions.sign_in_attribute(request, "person") if factors is not None and factors.passkeys else "",
    )
    return response if error is None else with_headers_of(error, response)


@OPERATIONS.add("GET", "/stepup", guard=signed_in_page("own"))
async def step_up_page(request: Request, caller: Person) -> Response:
    """Ask for the password. `to` is the page to open afterwards."""
    form = parse_form(request.query)
    if stepup.is_recent(caller, request.now):
        return see_other(DASHBOARD.read(form))
    return await stepup.confirmation_page(request, caller, form)


@OPERATIONS.add("POST", "/stepup", guard=signed_in_page_while_suspended("own"))
async def step_up(request: Request, caller: Person) -> Response:
    """Verify password and code, and open the page `to`."""
    form = request.form()
    try:
        await stepup.confirm_by_form(request, caller, form)
    except AuthenticationRequired:
        raise SignInFirst(DASHBOARD.sign_in_path(request)) from None
    except ApiError as error:
        return await stepup.confirmation_page(request, caller, form, error)
    return see_other(DASHBOARD.read(form))


@OPERATIONS.add("GET", "/signup", guard=anyone)
async def sign_up_page(request: Request) -> Response:
    """The sign-up form."""
    continuation = Continuation.of(parse_form(request.query))
    return page(
        request,
        "dashboard/account/signup.html",
        continuation=continuation,
        email="",
        business_name="",
        message="",
        field_errors={},
    )


@OPERATIONS.add("POST", "/signup", guard=visitor)
async def sign_up(request: Request) -> Response:
    """Create the account and continue."""
    form = request.form()
    new = SignUp(form.one("email") or "", form.one("password") or "", form.one("business_name") or "")
    try:
        _, secret = await actions.sign_up(request, new)
    except ApiError as error:
        response = page(
            request,
            "dashboard/account/signup.html",
            error.status,
            continuation=Continuation.of(form),
            email=new.email,
            business_name=new.business_name,
            message=error.message,
            field_errors=by_field(error) | ({"email": error.message} if isinstance(error, EmailTaken) else {}),
        )
        return with_headers_of(error, response)
    return sessions.set_cookie(request, see_other(Continuation.of(form).path), secret)


@OPERATIONS.add("POST", "/signout", guard=visitor)
async def sign_out(request: Request) -> Response:
    """End the session."""
    return await sessions.sign_out(request, see_other("/signin"))


@OPERATIONS.add("GET", "/{mode}/developers/keys", guard=signed_in_page("read"))
async def keys_page(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The API keys of one environment, and the form for a new one."""
    return await _keys_page(request, caller, env)


@OPERATIONS.add(
    "POST",
    "/{mode}/developers/keys",
    guard=signed_in_page("developers"),
    errors=(EmailUnverified,),
    recent_authentication="live",
)
async def make_key(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Create a key and show it once."""
    form = request.form()
    typed = limit_form.read(form, request.services.catalogue, caller.zone)
    new = NewApiKey(
        form.one("name") or "",
        env.mode,
        scopes_of(form),
        limits=typed.requests,
        recipients=typed.selected,
        expires_at=typed.expires_at,
        allowed_networks=(form.one("allowed_networks") or "").replace(",", " ").split(),
        proposals_only=typed.proposals_only,
    )
    preset = form.one("preset") or CUSTOM
    if typed.errors:
        error = ValidationFailed(*new.field_errors(request.services.catalogue))
        return await _keys_page(request, caller, env, new=new, typed=typed, preset=preset, error=error)
    try:
        created = await request.transact(lambda work: actions.create_api_key(work, caller, new))
    except ValidationFailed as error:
        return await _keys_page(request, caller, env, new=new, typed=typed.refused(error), preset=preset, error=error)
    return await _keys_page(request, caller, env, secret=created.api_key)


@OPERATIONS.add(
    "POST",
    "/{mode}/developers/keys/{api_key_id}/revoke",
    guard=signed_in_page_while_suspended("developers"),
    recent_authentication="live",
)
async def revoke_key(caller: Person, env: MerchantEnv, api_key_id: UUID, work: Work) -> Response:
    """Revoke a key and return to the list."""
    await actions.revoke_api_key(work, caller, api_key_id, env.mode)
    return see_other(f"/{env.mode}/developers/keys")


async def _keys_page(
    request: Request,
    caller: Person,
    env: MerchantEnv,
    *,
    secret: str = "",
    new: NewApiKey | None = None,
    typed: LimitForm | None = None,
    preset: str = PRESETS[0].name,
    error: ApiError | None = None,
) -> Response:
    catalogue = request.services.catalogue
    return render(
        request,
        caller,
        "account/keys",
        error.status if error else 200,
        here="keys",
        secret=secret,
        name=new.name if new else "",
        permissions=GRANTABLE,
        presets=PRESETS,
        preset=preset,
        ticked=READ if new is None or new.scopes is None else new.scopes,
        titles={permission.scope: permission.title for permission in GRANTABLE},
        title_of=title_of,
        message=error.message if error else "",
        field_errors=_key_errors(error),
        limit_form=typed or limit_form.of_limits(NO_LIMITS, limit_form.ALL_KINDS, catalogue, caller.zone),
        limit_options=await limit_form.options(request.services.db, env, catalogue),
        allowed_networks=" ".join(new.allowed_networks) if new else "",
        keys=[key for key in await _list_keys(request, caller) if key.mode == env.mode],
    )


def _key_errors(error: ApiError | None) -> dict[str, Translatable]:
    """The errors by field; those of single networks belong to the one field that has them all."""
    return {field.partition(".")[0]: message for field, message in by_field(error).items()}


async def _list_keys(request: Request, caller: Person) -> list[ApiKeyView]:
    services = request.services
    return await store.list_api_keys(services.db, caller.merchant_id, services.catalogue)


REQUEST_ID_CHARS_MAX = 64


class Continuation(Struct, frozen=True):
    """An authorization request, or the page that was asked for, else the home page. The sign-in forms carry its `fields`."""

    request_id: str
    to: str
    stay: bool = False
    """Whether to stay signed in on this device: of the sign-in alone."""

    @classmethod
    def of(cls, form: Form) -> Self:
        """From a form or a query. Neither parameter can be a URL of another site."""
        name = form.one("request") or ""
        is_id = name.isalnum() and name.isascii() and len(name) <= REQUEST_ID_CHARS_MAX
        return cls(name if is_id else "", DASHBOARD.read(form), form.one("stay") is not None)

    @property
    def path(self) -> str:
        """Where it continues."""
        return f"/oauth/consent/{self.request_id}" if self.request_id else self.to

    @property
    def fields(self) -> dict[str, str]:
        """The parameters that carry it."""
        return {"request": self.request_id} if self.request_id else {"to": self.to} if self.to != DASHBOARD.home else {}

    @property
    def code_path(self) -> str:
        """The form for the code, between sign-in and what follows."""
        fields = self.fields | ({"stay": "1"} if self.stay else {})
        return f"/signin/2fa?{urlencode(fields)}" if fields else "/signin/2fa"

    def after(self, path: str) -> str:
        """The path of a form of sign-in or sign-up that continues so."""
        return f"{path}?{urlencode(self.fields)}" if self.fields else path
