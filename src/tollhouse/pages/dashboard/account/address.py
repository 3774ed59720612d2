"""The pages of the address by which a person signs in: its verification, and a change, confirmed and undone by links."""

from starlette.responses import Response

from tollhouse.accounts.identity import address_changes, address_changes_store, emails
from tollhouse.accounts.identity.address_changes import AddressTaken
from tollhouse.accounts.identity.guards import anyone, signed_in_page, visitor
from tollhouse.accounts.identity.model import AddressChange, Person
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.mail.links import MailLinkExpired
from tollhouse.accounts.team import invitations
from tollhouse.http.forms import NO_ERRORS, FormErrors, flash_message, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other, with_headers_of
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError
from tollhouse.pages.dashboard.account.password import expired_page
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)

ADDRESS = "/settings/security/address"
ADDRESS_NOTICES = {
    "sent": "Verification email sent. The link is valid for three days.",
    "logged": "The new verification link is in the server log. It is valid for three days.",
    "requested": "A link was sent to the new address. Your address is changed when you open it and confirm.",
    "requested-logged": "The link for the new address is in the server log. Your address is changed when you confirm there.",
    "withdrawn": "The change was withdrawn. Your address stays the same.",
}
CONFIRM, UNDO = "/address/confirm/{secret}", "/address/undo/{secret}"


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


@OPERATIONS.add("GET", ADDRESS, guard=signed_in_page("own"))
async def address(request: Request, caller: Person) -> Response:
    """The user's address, whether it is verified, and the button for a new email."""
    return await _address_page(request, caller, notice=ADDRESS_NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", ADDRESS, guard=signed_in_page("own"))
async def send_link(request: Request, caller: Person) -> Response:
    """Send a new verification email."""
    try:
        await emails.send_link(request, caller)
    except RateLimited as error:
        return with_headers_of(error, await _address_page(request, caller, FormErrors(error.message, status=error.status)))
    return see_other(f"{ADDRESS}?done={'logged' if request.services.settings.smtp is None else 'sent'}")


@OPERATIONS.add("POST", f"{ADDRESS}/change", guard=signed_in_page("own"), recent_authentication="always")
async def request_change(request: Request, caller: Person) -> Response:
    """Send a link to the new address."""
    email = request.form().one("email") or ""
    try:
        await address_changes.request_change(request, caller, email)
    except ApiError as error:
        return with_headers_of(error, await _address_page(request, caller, form_errors_of(error, ("email",)), entered=email))
    return see_other(f"{ADDRESS}?done={'requested-logged' if request.services.settings.smtp is None else 'requested'}")


@OPERATIONS.add("POST", f"{ADDRESS}/withdraw", guard=signed_in_page("own"))
async def withdraw(caller: Person, work: Work) -> Response:
    """Withdraw the request that waits."""
    await address_changes.withdraw(work, caller)
    return see_other(f"{ADDRESS}?done=withdrawn")


@OPERATIONS.add("GET", CONFIRM, guard=anyone)
async def confirmation_page(request: Request, secret: str) -> Response:
    """Both addresses, and the button that confirms the change: programs that look at emails open links."""
    try:
        change = await address_changes.find(request, "confirm_address", secret)
    except MailLinkExpired as error:
        return expired_page(request, error, "address")
    return _confirmation(request, change)


@OPERATIONS.add("POST", CONFIRM, guard=visitor)
async def confirm(request: Request, secret: str) -> Response:
    """Change the address. No session is needed: the link is proof of the address."""
    try:
        return _confirmation(request, await address_changes.confirm(request, secret))
    except (MailLinkExpired, AddressTaken) as error:
        return expired_page(request, error, "address")


@OPERATIONS.add("GET", UNDO, guard=anyone)
async def undo_page(request: Request, secret: str) -> Response:
    """What is undone, and the button that does it."""
    try:
        change = await address_changes.find(request, "undo_address", secret)
    except MailLinkExpired as error:
        return expired_page(request, error, "undo")
    return _undo_page(request, change)


@OPERATIONS.add("POST", UNDO, guard=visitor)
async def undo(request: Request, secret: str) -> Response:
    """Restore the old address. No session is needed, nor is there one afterwards."""
    try:
        return _undo_page(request, await address_changes.undo(request, secret, invitations.undo_sent))
    except MailLinkExpired as error:
        return expired_page(request, error, "undo")


def _confirmation(request: Request, change: AddressChange) -> Response:
    return page(request, "dashboard/account/address_confirm.html", change=change)


def _undo_page(request: Request, change: AddressChange) -> Response:
    without_relay = request.services.settings.smtp is None
    return page(request, "dashboard/account/address_undo.html", change=change, without_relay=without_relay)


async def _address_page(
    request: Request, person: Person, form_errors: FormErrors = NO_ERRORS, notice: str = "", entered: str = ""
) -> Response:
    change = await address_changes_store.current(request.services.db, person.user_id, request.now)
    return render(
        request,
        person,
        "account/address",
        form_errors.status,
        here="security",
        form_errors=form_errors,
        notice=notice,
        entered=entered,
        change=change,
        change_ends_at="" if change is None else stamp(change.ends_at),
        without_relay=request.services.settings.smtp is None,
    )
