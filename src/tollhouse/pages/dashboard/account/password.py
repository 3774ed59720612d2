"""The pages that set a new password, by a reset link or in the dashboard."""

from starlette.responses import Response

from tollhouse.accounts.identity import passwords
from tollhouse.accounts.identity.guards import anyone, signed_in_page, signed_in_page_while_suspended, visitor
from tollhouse.accounts.identity.model import InvalidCredentials, Person
from tollhouse.accounts.identity.passwords import PasswordChanged
from tollhouse.accounts.mail.links import MailLinkExpired
from tollhouse.http.forms import NO_ERRORS, NOT_SAVED, FormErrors, flash_message, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other, with_headers_of
from tollhouse.kernel.errors import ApiError
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
NOTICES = {"changed": "Your password was changed. All other sessions were signed out."}
WRONG_PASSWORD = "Incorrect password."  # noqa: S105 - a message


@OPERATIONS.add("GET", "/forgot", guard=anyone)
async def forgot(request: Request) -> Response:
    """The form that requests a reset link."""
    return _forgot(request, "")


@OPERATIONS.add("POST", "/forgot", guard=visitor)
async def request_reset(request: Request) -> Response:
    """Send a reset link. The response is the same whether or not there is an account."""
    email = request.form().one("email") or ""
    try:
        await passwords.request_reset(request, email.strip())
    except ApiError as error:
        return with_headers_of(error, _forgot(request, email, form_errors_of(error, ("email",))))
    return _forgot(request, email.strip(), is_sent=True)


@OPERATIONS.add("GET", "/reset/{secret}", guard=anyone)
async def reset_page(request: Request, secret: str) -> Response:
    """The form for a new password. Opening it does not use the link."""
    try:
        return _reset(request, (await passwords.find_reset_owner(request, secret)).email)
    except MailLinkExpired as error:
        return expired_page(request, error, "reset")


@OPERATIONS.add("POST", "/reset/{secret}", guard=visitor)
async def reset(request: Request, secret: str) -> Response:
    """Set the password and go to sign-in."""
    try:
        await passwords.reset(request, secret, request.form().one("password") or "")
    except MailLinkExpired as error:
        return expired_page(request, error, "reset")
    except ApiError as error:
        email = (await passwords.find_reset_owner(request, secret)).email
        return _reset(request, email, form_errors_of(error, ("password",)))
    return see_other("/signin?done=reset")


@OPERATIONS.add("GET", "/settings/password", guard=signed_in_page("own"))
async def password(request: Request, caller: Person) -> Response:
    """The form that changes the password."""
    return await _password(request, caller, notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", "/settings/password", guard=signed_in_page_while_suspended("own"))
async def change(request: Request, caller: Person) -> Response:
    """Change the password, given the current one."""
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
        return with_headers_of(error, await _password(request, caller, form_errors_of(error, ("present", "password"))))
    return see_other("/settings/password?done=changed")


def expired_page(request: Request, error: ApiError, kind: str) -> Response:
    """The page of a link that does not work, with the way to a new one."""
    return page(request, "dashboard/account/link_expired.html", error.status, kind=kind, message=error.message)


def _forgot(request: Request, email: str, form_errors: FormErrors = NO_ERRORS, *, is_sent: bool = False) -> Response:
    return page(
        request,
        "dashboard/account/forgot.html",
        form_errors.status,
        email=email,
        form_errors=form_errors,
        is_sent=is_sent,
        without_relay=request.services.settings.smtp is None,
    )


def _reset(request: Request, email: str, form_errors: FormErrors = NO_ERRORS) -> Response:
    return page(request, "dashboard/account/reset.html", form_errors.status, email=email, form_errors=form_errors)


async def _password(request: Request, person: Person, form_errors: FormErrors = NO_ERRORS, notice: str = "") -> Response:
    return render(
        request,
        person,
        "account/password",
        here="security",
        seen=await passwords.version(request, person.user_id),
        form_errors=form_errors,
        notice=notice,
    )
