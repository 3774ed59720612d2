"""The pages of a merchant's people: sign-up, sign-in, step-up, API keys."""

from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from tollhouse.http.forms import Form, flash_message, parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity import mfa_pending, sessions, stepup
from tollhouse.identity.guards import anyone, signed_in_page, signed_in_page_while_suspended, visitor
from tollhouse.identity.model import Person, SignInFirst
from tollhouse.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.identity.verified import EmailUnverified
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, AuthenticationRequired, FieldError, ValidationFailed
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.merchants import actions, store
from tollhouse.merchants.model import EmailTaken, NewApiKey, SignIn, SignUp
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
KEY_PERMISSIONS = [one for one in PERMISSIONS if one.access != "offline"]
NOTICES = {"reset": "Your password was changed. Sign in with the new one."}


@OPERATIONS.add("GET", "/", guard=anyone)
async def start(request: Request) -> Response:
    """The home page of who is signed in, or the sign-in page."""
    return see_other("/test/home" if await sessions.person_of(request) else "/signin")


@OPERATIONS.add("GET", "/signin", guard=anyone)
async def sign_in_page(request: Request) -> Response:
    """The sign-in form. `request` is the authorization request to come back to."""
    notice = NOTICES.get(flash_message(request.query), "")
    return page(
        request, "merchants/signin.html", request=_request(parse_form(request.query)), email="", message="", notice=notice
    )


@OPERATIONS.add("POST", "/signin", guard=visitor)
async def sign_in(request: Request) -> Response:
    """Sign in, then go back to the authorization request or home; where there is a second factor, by way of its page."""
    form = request.form()
    email = form.one("email") or ""
    try:
        _, secret = await actions.sign_in(request, SignIn(email, form.one("password") or ""))
    except SecondFactorRequired as wanted:
        return mfa_pending.give(request, see_other(_with_request("/signin/2fa", form)), "signin", wanted.holder_id)
    except ApiError as error:
        shown = page(
            request,
            "merchants/signin.html",
            error.status,
            request=_request(form),
            email=email,
            message=error.message,
            notice="",
        )
        shown.headers.update(error.headers)
        return shown
    return sessions.give(request, see_other(_after(form)), secret)


@OPERATIONS.add("GET", "/signin/2fa", guard=anyone)
async def code_page(request: Request) -> Response:
    """The form for the code of the second factor, behind the right password."""
    form = parse_form(request.query)
    if mfa_pending.holder_of(request, "signin") is None:
        return see_other(_with_request("/signin", form))
    return page(request, "merchants/signin_code.html", request=_request(form), message="")


@OPERATIONS.add("POST", "/signin/2fa", guard=visitor)
async def sign_in_by_code(request: Request) -> Response:
    """Take the code, then go back to the authorization request or home."""
    form = request.form()
    user_id = mfa_pending.holder_of(request, "signin")
    if user_id is None:
        return see_other(_with_request("/signin", form))
    since = mfa_pending.began_at(request, "signin")
    try:
        secret = await actions.finish_sign_in(request, user_id, since, form.one("code") or "")
    except SecondFactorChanged:
        return see_other(_with_request("/signin", form))
    except ApiError as error:
        shown = page(request, "merchants/signin_code.html", error.status, request=_request(form), message=error.message)
        shown.headers.update(error.headers)
        return shown
    return mfa_pending.drop(request, sessions.give(request, see_other(_after(form)), secret), "signin")


@OPERATIONS.add("GET", "/stepup", guard=signed_in_page)
async def step_up_page(request: Request, caller: Person) -> Response:
    """Ask who sits there for the password again. `to` is the page to go on to."""
    to = stepup.page_to(parse_form(request.query))
    return see_other(to) if stepup.is_recent(caller, request.now) else await stepup.asked(request, caller, to)


@OPERATIONS.add("POST", "/stepup", guard=signed_in_page_while_suspended)
async def step_up(request: Request, caller: Person) -> Response:
    """Take the password, and the code where there is a second factor, and go on."""
    form = request.form()
    to = stepup.page_to(form)
    try:
        await stepup.confirm_by_form(request, caller, form)
    except AuthenticationRequired:
        raise SignInFirst from None
    except ApiError as error:
        return await stepup.asked(request, caller, to, error)
    return see_other(to)


@OPERATIONS.add("GET", "/signup", guard=anyone)
async def sign_up_page(request: Request) -> Response:
    """The sign-up form."""
    pending = _request(parse_form(request.query))
    return page(request, "merchants/signup.html", request=pending, email="", business_name="", message="", field_errors={})


@OPERATIONS.add("POST", "/signup", guard=visitor)
async def sign_up(request: Request) -> Response:
    """Open an account and go on."""
    form = request.form()
    new = SignUp(form.one("email") or "", form.one("password") or "", form.one("business_name") or "")
    try:
        _, secret = await actions.sign_up(request, new)
    except ApiError as error:
        shown = page(
            request,
            "merchants/signup.html",
            error.status,
            request=_request(form),
            email=new.email,
            business_name=new.business_name,
            message=error.message,
            field_errors=_by_field(error.field_errors) | ({"email": error.message} if isinstance(error, EmailTaken) else {}),
        )
        shown.headers.update(error.headers)
        return shown
    return sessions.give(request, see_other(_after(form)), secret)


@OPERATIONS.add("POST", "/signout", guard=visitor)
async def sign_out(request: Request) -> Response:
    """End the session."""
    return await sessions.end(request, see_other("/signin"))


@OPERATIONS.add("GET", "/{mode}/developers/keys", guard=signed_in_page)
async def keys_page(request: Request, caller: Person, mode: str) -> Response:
    """The API keys of one environment, and the form for a new one."""
    return await _keys_page(request, caller, caller.env(mode))


@OPERATIONS.add(
    "POST", "/{mode}/developers/keys", guard=signed_in_page, errors=(EmailUnverified,), recent_authentication="live"
)
async def make_key(request: Request, caller: Person, mode: str) -> Response:
    """Make a key and show it once."""
    env = caller.env(mode)
    form = request.form()
    new = NewApiKey(form.one("name") or "", env.mode, form.all("scope") if form.one("choice") else None)
    try:
        async with request.services.db.transaction() as tx:
            made = await actions.make_api_key(tx, caller, new, request.services, request.now)
    except ValidationFailed as error:
        return await _keys_page(request, caller, env, new=new, error=error)
    return await _keys_page(request, caller, env, secret=made.api_key)


@OPERATIONS.add(
    "POST", "/{mode}/developers/keys/{api_key_id}/revoke", guard=signed_in_page_while_suspended, recent_authentication="live"
)
async def revoke_key(request: Request, caller: Person, mode: str, api_key_id: UUID, tx: Tx) -> Response:
    """Revoke a key and show the rest."""
    env = caller.env(mode)
    await actions.revoke_api_key(tx, caller, api_key_id, request.now, env.mode)
    return see_other(f"/{env.mode}/developers/keys")


async def _keys_page(
    request: Request,
    caller: Person,
    env: MerchantEnv,
    *,
    secret: str = "",
    new: NewApiKey | None = None,
    error: ApiError | None = None,
) -> Response:
    return page(
        request,
        "merchants/keys.html",
        error.status if error else 200,
        person=caller,
        mode=env.mode,
        here="keys",
        secret=secret,
        name=new.name if new else "",
        permissions=KEY_PERMISSIONS,
        ticked=[one.scope for one in KEY_PERMISSIONS] if new is None or new.scopes is None else new.scopes,
        message=error.message if error else "",
        field_errors=_by_field(error.field_errors) if error else {},
        keys=[key for key in await store.api_keys(request.services.db, caller.merchant_id) if key.mode == env.mode],
    )


def _request(form: Form) -> str:
    """The authorization request to come back to: an opaque name, never an address."""
    name = form.one("request") or ""
    return name if name.isalnum() and name.isascii() and len(name) <= 64 else ""  # noqa: PLR2004


def _after(form: Form) -> str:
    request = _request(form)
    return f"/oauth/consent/{request}" if request else "/"


def _with_request(path: str, form: Form) -> str:
    request = _request(form)
    return f"{path}?{urlencode({'request': request})}" if request else path


def _by_field(field_errors: tuple[FieldError, ...]) -> dict[str, str]:
    return {fault.field: fault.message for fault in field_errors}
