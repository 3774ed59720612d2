"""The pages of verifying an e-mail address. The link shows a button, for programs that read mail look at every link."""

from starlette.responses import Response

from tollhouse.http.form_errors import NO_ERRORS, FormErrors
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import anyone, signed_in_page, visitor
from tollhouse.identity.model import Person
from tollhouse.identity.throttle import RateLimited
from tollhouse.mail.links import LinkIsOver
from tollhouse.merchants import addresses
from tollhouse.merchants.password_pages import over

OPERATIONS = Operations(PAGES)
ADDRESS = "/settings/security/address"
NOTICES = {"sent": "The mail is on its way. Its link works for three days."}


@OPERATIONS.add("GET", "/verify/{secret}", guard=anyone)
async def look(request: Request, secret: str) -> Response:
    """The address, and the button. Looking at it verifies nothing."""
    try:
        email, verified = await addresses.address_of(request, secret)
    except LinkIsOver as error:
        return over(request, error, "verify")
    return page(request, "merchants/verify.html", email=email, verified=verified)


@OPERATIONS.add("POST", "/verify/{secret}", guard=visitor)
async def verify(request: Request, secret: str) -> Response:
    """Mails reach this address. Whoever reads them need not be signed in here."""
    try:
        email = await addresses.verify(request, secret)
    except LinkIsOver as error:
        return over(request, error, "verify")
    return page(request, "merchants/verify.html", email=email, verified=True)


@OPERATIONS.add("GET", ADDRESS, guard=signed_in_page)
async def address(request: Request, caller: Person) -> Response:
    """Whether this person's address is verified, and the button for another mail."""
    return _address(request, caller, notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", ADDRESS, guard=signed_in_page)
async def send_link(request: Request, caller: Person) -> Response:
    """Mail another link."""
    try:
        await addresses.send_link(request, caller)
    except RateLimited as error:
        shown = _address(request, caller, FormErrors(error.message, status=error.status))
        shown.headers.update(error.headers)
        return shown
    return see_other(f"{ADDRESS}?done=sent")


def _address(request: Request, person: Person, form_errors: FormErrors = NO_ERRORS, notice: str = "") -> Response:
    return page(
        request,
        "merchants/address.html",
        form_errors.status,
        person=person,
        mode="test",
        here="security",
        form_errors=form_errors,
        notice=notice,
        without_relay=request.services.settings.smtp is None,
    )
