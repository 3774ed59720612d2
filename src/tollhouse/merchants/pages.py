"""The pages of a merchant's people: sign-up, sign-in, step-up, API keys."""

from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from tollhouse.callers import half_signed_in, sessions, stepup
from tollhouse.callers.guards import anyone, signed_in_page, signed_in_page_while_suspended, visitor
from tollhouse.callers.model import Person, SignInFirst
from tollhouse.callers.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.callers.verified import EmailUnverified
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import AuthenticationRequired, Fault, Refusal, ValidationFailed
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.merchants import actions, store
from tollhouse.merchants.model import EmailTaken, NewApiKey, SignIn, SignUp
from tollhouse.platform.db import Tx
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import Form, parse_form, what_was_done
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
KEY_PERMISSIONS = [one for one in PERMISSIONS if one.access != "offline"]
NOTICES = {"reset": "Your password was changed. Sign in with the new one."}


@OPERATIONS.add("GET", "/", guard=anyone)
async def start(ask: Ask) -> Response:
    """The home page of who is signed in, or the sign-in page."""
    return see_other("/test/home" if await sessions.person_of(ask) else "/signin")


@OPERATIONS.add("GET", "/signin", guard=anyone)
async def sign_in_page(ask: Ask) -> Response:
    """The sign-in form. `request` is the authorization request to come back to."""
    notice = NOTICES.get(what_was_done(ask.query), "")
    return page(ask, "merchants/signin.html", request=_request(parse_form(ask.query)), email="", message="", notice=notice)


@OPERATIONS.add("POST", "/signin", guard=visitor)
async def sign_in(ask: Ask) -> Response:
    """Sign in, then go back to the authorization request or home; where there is a second factor, by way of its page."""
    form = ask.form()
    email = form.one("email") or ""
    try:
        _, secret = await actions.sign_in(ask, SignIn(email, form.one("password") or ""))
    except SecondFactorRequired as wanted:
        return half_signed_in.give(ask, see_other(_with_request("/signin/2fa", form)), "signin", wanted.holder_id)
    except Refusal as refusal:
        shown = page(
            ask,
            "merchants/signin.html",
            refusal.status,
            request=_request(form),
            email=email,
            message=refusal.message,
            notice="",
        )
        shown.headers.update(refusal.headers)
        return shown
    return sessions.give(ask, see_other(_after(form)), secret)


@OPERATIONS.add("GET", "/signin/2fa", guard=anyone)
async def code_page(ask: Ask) -> Response:
    """The form for the code of the second factor, behind the right password."""
    form = parse_form(ask.query)
    if half_signed_in.holder_of(ask, "signin") is None:
        return see_other(_with_request("/signin", form))
    return page(ask, "merchants/signin_code.html", request=_request(form), message="")


@OPERATIONS.add("POST", "/signin/2fa", guard=visitor)
async def sign_in_by_code(ask: Ask) -> Response:
    """Take the code, then go back to the authorization request or home."""
    form = ask.form()
    user_id = half_signed_in.holder_of(ask, "signin")
    if user_id is None:
        return see_other(_with_request("/signin", form))
    since = half_signed_in.began_at(ask, "signin")
    try:
        secret = await actions.finish_sign_in(ask, user_id, since, form.one("code") or "")
    except SecondFactorChanged:
        return see_other(_with_request("/signin", form))
    except Refusal as refusal:
        shown = page(ask, "merchants/signin_code.html", refusal.status, request=_request(form), message=refusal.message)
        shown.headers.update(refusal.headers)
        return shown
    return half_signed_in.drop(ask, sessions.give(ask, see_other(_after(form)), secret), "signin")


@OPERATIONS.add("GET", "/stepup", guard=signed_in_page)
async def step_up_page(ask: Ask, caller: Person) -> Response:
    """Ask who sits there for the password again. `to` is the page to go on to."""
    to = stepup.page_to(parse_form(ask.query))
    return see_other(to) if stepup.is_recent(caller, ask.now) else await stepup.asked(ask, caller, to)


@OPERATIONS.add("POST", "/stepup", guard=signed_in_page_while_suspended)
async def step_up(ask: Ask, caller: Person) -> Response:
    """Take the password, and the code where there is a second factor, and go on."""
    form = ask.form()
    to = stepup.page_to(form)
    try:
        await stepup.confirm_by_form(ask, caller, form)
    except AuthenticationRequired:
        raise SignInFirst from None
    except Refusal as refusal:
        return await stepup.asked(ask, caller, to, refusal)
    return see_other(to)


@OPERATIONS.add("GET", "/signup", guard=anyone)
async def sign_up_page(ask: Ask) -> Response:
    """The sign-up form."""
    request = _request(parse_form(ask.query))
    return page(ask, "merchants/signup.html", request=request, email="", business_name="", message="", faults={})


@OPERATIONS.add("POST", "/signup", guard=visitor)
async def sign_up(ask: Ask) -> Response:
    """Open an account and go on."""
    form = ask.form()
    new = SignUp(form.one("email") or "", form.one("password") or "", form.one("business_name") or "")
    try:
        _, secret = await actions.sign_up(ask, new)
    except Refusal as refusal:
        shown = page(
            ask,
            "merchants/signup.html",
            refusal.status,
            request=_request(form),
            email=new.email,
            business_name=new.business_name,
            message=refusal.message,
            faults=_by_field(refusal.faults) | ({"email": refusal.message} if isinstance(refusal, EmailTaken) else {}),
        )
        shown.headers.update(refusal.headers)
        return shown
    return sessions.give(ask, see_other(_after(form)), secret)


@OPERATIONS.add("POST", "/signout", guard=visitor)
async def sign_out(ask: Ask) -> Response:
    """End the session."""
    return await sessions.end(ask, see_other("/signin"))


@OPERATIONS.add("GET", "/{mode}/developers/keys", guard=signed_in_page)
async def keys_page(ask: Ask, caller: Person, mode: str) -> Response:
    """The API keys of one environment, and the form for a new one."""
    return await _keys_page(ask, caller, caller.env(mode))


@OPERATIONS.add(
    "POST", "/{mode}/developers/keys", guard=signed_in_page, refuses=(EmailUnverified,), recent_authentication="live"
)
async def make_key(ask: Ask, caller: Person, mode: str) -> Response:
    """Make a key and show it once."""
    env = caller.env(mode)
    form = ask.form()
    new = NewApiKey(form.one("name") or "", env.mode, form.all("scope") if form.one("choice") else None)
    try:
        async with ask.house.db.transaction() as tx:
            made = await actions.make_api_key(tx, caller, new, ask.house, ask.now)
    except ValidationFailed as refusal:
        return await _keys_page(ask, caller, env, new=new, refusal=refusal)
    return await _keys_page(ask, caller, env, secret=made.api_key)


@OPERATIONS.add(
    "POST", "/{mode}/developers/keys/{api_key_id}/revoke", guard=signed_in_page_while_suspended, recent_authentication="live"
)
async def revoke_key(ask: Ask, caller: Person, mode: str, api_key_id: UUID, tx: Tx) -> Response:
    """Revoke a key and show the rest."""
    env = caller.env(mode)
    await actions.revoke_api_key(tx, caller, api_key_id, ask.now, env.mode)
    return see_other(f"/{env.mode}/developers/keys")


async def _keys_page(
    ask: Ask,
    caller: Person,
    env: MerchantEnv,
    *,
    secret: str = "",
    new: NewApiKey | None = None,
    refusal: Refusal | None = None,
) -> Response:
    return page(
        ask,
        "merchants/keys.html",
        refusal.status if refusal else 200,
        person=caller,
        mode=env.mode,
        here="keys",
        secret=secret,
        name=new.name if new else "",
        permissions=KEY_PERMISSIONS,
        ticked=[one.scope for one in KEY_PERMISSIONS] if new is None or new.scopes is None else new.scopes,
        message=refusal.message if refusal else "",
        faults=_by_field(refusal.faults) if refusal else {},
        keys=[key for key in await store.api_keys(ask.house.db, caller.merchant_id) if key.mode == env.mode],
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


def _by_field(faults: tuple[Fault, ...]) -> dict[str, str]:
    return {fault.field: fault.message for fault in faults}
