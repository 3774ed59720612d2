"""The pages on which a person sets another password: with a link that was mailed, or at the dashboard."""

from starlette.responses import Response

from tollhouse.http.form_errors import NO_ERRORS, NOT_SAVED, FormErrors, form_errors_of
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import anyone, signed_in_page, signed_in_page_while_suspended, visitor
from tollhouse.identity.model import InvalidCredentials, Person
from tollhouse.kernel.errors import ApiError
from tollhouse.mail.links import LinkIsOver
from tollhouse.merchants import passwords
from tollhouse.merchants.passwords import PasswordChanged

OPERATIONS = Operations(PAGES)
NOTICES = {"changed": "Your password was changed. You are signed in here only."}
WRONG_PASSWORD = "This is not your password."  # noqa: S105 - what is said of one


@OPERATIONS.add("GET", "/forgot", guard=anyone)
async def forgot(request: Request) -> Response:
    """Where one asks for a link."""
    return _forgot(request, "")


@OPERATIONS.add("POST", "/forgot", guard=visitor)
async def ask_for_link(request: Request) -> Response:
    """Say that a link was mailed if there is such an account: in the same words, and time, where there is none."""
    email = request.form().one("email") or ""
    try:
        await passwords.ask_for_link(request, email.strip())
    except ApiError as error:
        form_errors = form_errors_of(error, ("email",))
        shown = _forgot(request, email, form_errors)
        shown.headers.update(error.headers)
        return shown
    return _forgot(request, email.strip(), asked=True)


@OPERATIONS.add("GET", "/reset/{secret}", guard=anyone)
async def choose(request: Request, secret: str) -> Response:
    """Where one chooses a password. Looking at it does not use the link up."""
    try:
        return _choose(request, await passwords.email_of(request, secret))
    except LinkIsOver as error:
        return over(request, error, "reset")


@OPERATIONS.add("POST", "/reset/{secret}", guard=visitor)
async def reset(request: Request, secret: str) -> Response:
    """Set it, and go on to signing in with it."""
    try:
        await passwords.reset(request, secret, request.form().one("password") or "")
    except LinkIsOver as error:
        return over(request, error, "reset")
    except ApiError as error:
        return _choose(request, await passwords.email_of(request, secret), form_errors_of(error, ("password",)))
    return see_other("/signin?done=reset")


@OPERATIONS.add("GET", "/settings/password", guard=signed_in_page)
async def password(request: Request, caller: Person) -> Response:
    """Where a person changes theirs."""
    return await _password(request, caller, notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", "/settings/password", guard=signed_in_page_while_suspended)
async def change(request: Request, caller: Person) -> Response:
    """Change it, for the present one."""
    form = request.form()
    try:
        await passwords.change(
            request, caller, form.one("present") or "", form.one("password") or "", form.one("seen") or ""
        )
    except InvalidCredentials as error:
        return await _password(request, caller, FormErrors(NOT_SAVED, {"present": WRONG_PASSWORD}, error.status))
    except PasswordChanged as error:
        return await _password(request, caller, FormErrors(error.message, status=error.status))
    except ApiError as error:
        shown = await _password(request, caller, form_errors_of(error, ("present", "password")))
        shown.headers.update(error.headers)
        return shown
    return see_other("/settings/password?done=changed")


def over(request: Request, error: ApiError, about: str) -> Response:
    """The page of a link that is none, or none any more, and the way to another one."""
    return page(request, "merchants/link_over.html", error.status, about=about, message=error.message)


def _forgot(request: Request, email: str, form_errors: FormErrors = NO_ERRORS, *, asked: bool = False) -> Response:
    return page(
        request,
        "merchants/forgot.html",
        form_errors.status,
        email=email,
        form_errors=form_errors,
        asked=asked,
        without_relay=request.services.settings.smtp is None,
    )


def _choose(request: Request, email: str, form_errors: FormErrors = NO_ERRORS) -> Response:
    return page(request, "merchants/reset.html", form_errors.status, email=email, form_errors=form_errors)


async def _password(request: Request, person: Person, form_errors: FormErrors = NO_ERRORS, notice: str = "") -> Response:
    return page(
        request,
        "merchants/password.html",
        form_errors.status,
        person=person,
        mode="test",
        here="security",
        seen=await passwords.version(request, person.user_id),
        form_errors=form_errors,
        notice=notice,
    )
