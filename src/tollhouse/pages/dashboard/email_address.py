"""The pages that verify an email address. The link shows a button, since mail scanners open links."""

from starlette.responses import Response

from tollhouse.accounts.identity import emails
from tollhouse.accounts.identity.guards import anyone, signed_in_page, visitor
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.mail.links import MailLinkExpired
from tollhouse.http.forms import NO_ERRORS, FormErrors, flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other, with_headers_of
from tollhouse.pages.dashboard.password import expired_page

OPERATIONS = Operations(PAGES)
ADDRESS = "/settings/security/address"
NOTICES = {
    "sent": "Verification email sent. The link is valid for three days.",
    "logged": "The new verification link is in the server log. It is valid for three days.",
}


@OPERATIONS.add("GET", "/verify/{secret}", guard=anyone)
async def verification_page(request: Request, secret: str) -> Response:
    """The address and the button that verifies it."""
    try:
        owner = await emails.find_owner(request, secret)
    except MailLinkExpired as error:
        return expired_page(request, error, "verify")
    return page(request, "dashboard/account/verify.html", email=owner.email, verified=owner.verified)


@OPERATIONS.add("POST", "/verify/{secret}", guard=visitor)
async def verify(request: Request, secret: str) -> Response:
    """Verify the address. No session is needed."""
    try:
        email = await emails.verify(request, secret)
    except MailLinkExpired as error:
        return expired_page(request, error, "verify")
    return page(request, "dashboard/account/verify.html", email=email, verified=True)


@OPERATIONS.add("GET", ADDRESS, guard=signed_in_page)
async def address(request: Request, caller: Person) -> Response:
    """The user's address, whether it is verified, and the button for a new email."""
    return _page(request, caller, notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", ADDRESS, guard=signed_in_page)
async def send_link(request: Request, caller: Person) -> Response:
    """Send a new verification email."""
    try:
        await emails.send_link(request, caller)
    except RateLimited as error:
        return with_headers_of(error, _page(request, caller, FormErrors(error.message, status=error.status)))
    return see_other(f"{ADDRESS}?done={'logged' if request.services.settings.smtp is None else 'sent'}")


def _page(request: Request, person: Person, form_errors: FormErrors = NO_ERRORS, notice: str = "") -> Response:
    return page(
        request,
        "dashboard/account/address.html",
        form_errors.status,
        person=person,
        here="security",
        form_errors=form_errors,
        notice=notice,
        without_relay=request.services.settings.smtp is None,
    )
